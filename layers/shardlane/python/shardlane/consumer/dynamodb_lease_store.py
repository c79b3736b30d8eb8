"""Leases in DynamoDB, on the Kinesis Client Library's own table: shards shared between
processes, and checkpoints that survive a restart."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shardlane.consumer import lease_request as requests
from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.errors import LeaseTableError
from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_item import (
    Item,
    LeaseKeys,
    is_lease,
    is_multi_stream,
    lease_of,
    stream_name,
)
from shardlane.consumer.lease_store import Answer, Done, Refused, StreamIdentity, Unknown
from shardlane.errors import SettingsError
from shardlane.parking.store import OwnerCheck

_log = logging.getLogger(__name__)

TIMEOUT_S = 1.0
"""Per request, and no retries of the SDK: the protocol repeats by itself, and must know of each
attempt."""
ACTIVE_WITHIN_S = 120.0
_THREADS = 16


class DynamoDBLeaseStore:
    """One table for one stream's leases; or, with ``multi_stream``, for those of several."""

    def __init__(
        self, table: str, *, multi_stream: bool = False, create: bool = True, **options: Any
    ) -> None:
        """``create``: make the table (on-demand capacity) if there is none. ``options`` are those
        of boto3's ``Session.client`` (``region_name``, ``endpoint_url``, …), and ``profile``."""
        if not table:
            raise SettingsError("a DynamoDBLeaseStore needs the name of a table")
        self._table = table
        self._multi_stream = multi_stream
        self._create = create
        self._options = options
        self._pool = DaemonPool("shardlane-leases", _THREADS)
        self._clients: list[Any] = []

    @property
    def is_shared(self) -> bool:
        return True

    async def open(self, stream: StreamIdentity) -> DynamoDBLeaseTable:
        keys = LeaseKeys(stream, self._multi_stream)
        client = await self._pool.run(self._prepared, keys)
        return DynamoDBLeaseTable(client, self._pool, self._table, keys)

    async def close(self) -> None:
        self._pool.close()
        for client in self._clients:
            client.close()
        self._clients.clear()

    # --- on a thread ------------------------------------------------------------------------

    def _prepared(self, keys: LeaseKeys) -> Any:
        """Makes sure that the table is there and is what it should be; returns a client for the
        protocol."""
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            options = dict(self._options)
            session = boto3.Session(profile_name=options.pop("profile", None))
            patient = session.client("dynamodb", **options)
            config = Config(
                connect_timeout=TIMEOUT_S,
                read_timeout=TIMEOUT_S,
                retries={"total_max_attempts": 1},
                max_pool_connections=_THREADS,
            )
            client = session.client("dynamodb", config=config, **options)
            self._clients += [patient, client]
            self._make_sure_of_table(patient)
            self._check_rows(patient, keys)
        except (ClientError, BotoCoreError) as error:
            raise LeaseTableError(f"the lease table {self._table} cannot be used: {error}") from (
                error
            )
        return client

    def _make_sure_of_table(self, client: Any) -> None:
        deadline_s = time.monotonic() + ACTIVE_WITHIN_S
        while (status := self._status(client)) != "ACTIVE":
            if status is None:
                self._create_table(client)
            if time.monotonic() > deadline_s:
                raise LeaseTableError(
                    f"the lease table {self._table} is still {status} after {ACTIVE_WITHIN_S:g} s"
                )
            time.sleep(0.2)

    def _status(self, client: Any) -> str | None:
        try:
            return str(client.describe_table(TableName=self._table)["Table"]["TableStatus"])
        except client.exceptions.ResourceNotFoundException:
            return None

    def _create_table(self, client: Any) -> None:
        if not self._create:
            raise LeaseTableError(f"there is no lease table {self._table}")
        try:
            client.create_table(
                TableName=self._table,
                KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        except client.exceptions.ResourceInUseException:
            return  # another process was faster
        _log.info("made the lease table %s", self._table)

    def _check_rows(self, client: Any, keys: LeaseKeys) -> None:
        for item in scanned(client, self._table):
            if not is_lease(item):
                continue
            if is_multi_stream(item) != self._multi_stream:
                kind = "several streams" if is_multi_stream(item) else "one stream"
                raise LeaseTableError(
                    f"the lease table {self._table} is for {kind} ({item['leaseKey']['S']}): "
                    f"pass multi_stream={not self._multi_stream}, or use another table"
                )
            name = stream_name(item)
            if not self._multi_stream and name not in (None, keys.stream.name):
                raise LeaseTableError(
                    f"the lease table {self._table} holds the leases of the stream {name}: shard "
                    f"ids repeat across streams, so {keys.stream.name} needs a table of its own, "
                    "or both of them multi_stream=True"
                )


class DynamoDBLeaseTable:
    """The verbs as conditional writes, each in a daemon thread."""

    def __init__(self, client: Any, pool: DaemonPool, table: str, keys: LeaseKeys) -> None:
        self._client = client
        self._pool = pool
        self._table = table
        self._keys = keys

    async def scan(self) -> list[Lease] | Unknown:
        return await self._pool.run(self._scan)

    async def create(self, lease: Lease) -> Answer:
        request = requests.create(self._table, self._keys, lease)
        answer = await self._ask(self._client.put_item, request)
        return Done(lease) if isinstance(answer, dict) else answer

    async def write(self, shard_id: str, counter: int, me: str, change: Change) -> Answer:
        request = requests.write(self._table, self._keys, shard_id, counter, me, change)
        return self._row_after(await self._ask(self._client.update_item, request))

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        request = requests.take(self._table, self._keys, seen, me, start_ms)
        return self._row_after(await self._ask(self._client.update_item, request))

    async def hand_off(self, shard_id: str, owner: str, me: str) -> Answer:
        request = requests.hand_off(self._table, self._keys, shard_id, owner, me)
        return self._row_after(await self._ask(self._client.update_item, request))

    def owner_check(self, shard_id: str, me: str) -> OwnerCheck | None:
        return requests.owner_check(self._table, self._keys, shard_id, me)

    async def delete(self, shard_id: str, counter: int) -> Answer:
        request = requests.delete(self._table, self._keys, shard_id, counter)
        return self._row_after(await self._ask(self._client.delete_item, request))

    # --- inside -----------------------------------------------------------------------------

    def _row_after(self, answer: dict[str, Any] | Refused | Unknown) -> Answer:
        if isinstance(answer, dict):
            return Done(lease_of(answer["Attributes"], self._keys))
        return answer

    async def _ask(
        self, call: Callable[..., Any], request: Mapping[str, Any]
    ) -> dict[str, Any] | Refused | Unknown:
        return await self._pool.run(self._asked, call, request)

    def _asked(
        self, call: Callable[..., Any], request: Mapping[str, Any]
    ) -> dict[str, Any] | Refused | Unknown:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = call(**request)
        except ClientError as error:
            return self._refused(error.response)
        except BotoCoreError as error:
            return Unknown(f"{type(error).__name__}: {error}")
        return answer

    def _refused(self, response: Mapping[str, Any]) -> Refused | Unknown:
        told = response["Error"]
        if told["Code"] == "ConditionalCheckFailedException":
            item = response.get("Item")
            return Refused(lease_of(item, self._keys) if item else None)
        return Unknown(f"{told['Code']}: {told.get('Message', '')}")

    def _scan(self) -> list[Lease] | Unknown:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            items = list(scanned(self._client, self._table, self._keys.prefix))
        except self._client.exceptions.ResourceNotFoundException as error:
            # It was there when it was opened: no waiting brings it back.
            raise LeaseTableError(f"the lease table {self._table} is gone") from error
        except (ClientError, BotoCoreError) as error:
            return Unknown(f"{type(error).__name__}: {error}")
        return [lease_of(item, self._keys) for item in items if is_lease(item)]


def scanned(client: Any, table: str, prefix: str = "") -> Iterator[Item]:
    """All items whose key begins with ``prefix``, strongly consistent, page after page."""
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    if prefix:
        request["FilterExpression"] = "begins_with(leaseKey, :prefix)"
        request["ExpressionAttributeValues"] = {":prefix": {"S": prefix}}
    while True:
        page = client.scan(**request)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
