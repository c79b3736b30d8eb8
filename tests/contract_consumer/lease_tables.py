"""Every lease store, empty, for the contract."""

from __future__ import annotations

from shardlane.consumer.dynamodb_lease_store import DynamoDBLeaseStore
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Done, LeaseStore, LeaseTable, StreamIdentity
from shardlane.consumer.memory_lease_store import MemoryLeaseStore

STREAM = StreamIdentity(
    name="orders",
    arn="arn:aws:kinesis:eu-west-1:000000000000:stream/orders",
    created_ms=1_780_000_000_000,
)
ME, OTHER = "shardlane/host/1/a", "shardlane/host/2/b"
KINDS = ("memory", "dynamodb", "dynamodb-multi-stream", "dynamodb-by-boto3")


def store(kind: str, name: str = "leases") -> LeaseStore:
    if kind == "memory":
        return MemoryLeaseStore()
    return DynamoDBLeaseStore(
        f"{name}-{kind}",
        multi_stream=kind.endswith("multi-stream"),
        direct=not kind.endswith("by-boto3"),
        region_name="eu-west-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


class LeaseTables:
    """One store of each kind for many tests, emptied in between: making clients takes long."""

    def __init__(self) -> None:
        self._stores = {kind: store(kind) for kind in KINDS}
        self._tables: dict[str, LeaseTable] = {}

    async def empty(self, kind: str) -> LeaseTable:
        if kind not in self._tables:
            self._tables[kind] = await self._stores[kind].open(STREAM)
        leases = self._tables[kind]
        rows = await leases.scan()
        assert isinstance(rows, list)
        for each in rows:
            await leases.delete(each.shard_id, each.counter)
        return leases

    async def close(self) -> None:
        for leases in self._stores.values():
            await leases.close()


async def put(leases: LeaseTable, lease: Lease) -> Lease:
    """Stores a lease as it is; a store can only create free ones at counter 0 otherwise."""
    answer = await leases.create(lease)
    assert isinstance(answer, Done)
    return lease


async def row(leases: LeaseTable, shard_id: str = "s") -> Lease | None:
    rows = await leases.scan()
    assert isinstance(rows, list)
    return next((each for each in rows if each.shard_id == shard_id), None)
