"""Leases in DynamoDB, on the Kinesis Client Library's own table: shards shared between
processes, and checkpoints that survive a restart."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from shardlane.consumer import lease_request as requests
from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.direct_calls import direct_calls
from shardlane.consumer.errors import LeaseTableError
from shardlane.consumer.http_pool import Limits
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

Call = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Operation and request to answer; raises what boto3 raises, ``OSError`` and ``ValueError``."""
ScanRequest = dict[str, Any]

TIMEOUT_S = 1.0
"""Per request, and no retries of the SDK: the protocol repeats by itself, and must know of each
attempt."""
ACTIVE_WITHIN_S = 120.0
_THREADS = 16
_NO_ANSWER = Unknown("what came is no answer of DynamoDB")
"""Something between here and there may answer."""


class DynamoDBLeaseStore:
    """One table for one stream's leases; or, with ``multi_stream``, for those of several."""

    def __init__(
        self,
        table: str,
        *,
        multi_stream: bool = False,
        create: bool = True,
        direct: bool = True,
        **options: Any,
    ) -> None:
        """``create``: make the table (on-demand capacity) if there is none. ``direct``: as of
        ``Boto3Kinesis``, for what the protocol asks of the table. ``options`` are those of
        botocore's ``create_client`` (``region_name``, ``endpoint_url``, …), and ``profile``."""
        if not table:
            raise SettingsError("a DynamoDBLeaseStore needs the name of a table")
        self._table = table
        self._multi_stream = multi_stream
        self._create = create
        self._direct = direct
        self._options = options
        self._pool = DaemonPool("shardlane-leases", _THREADS)
        self._clients: list[Any] = []
        """All that is to be closed."""

    @property
    def is_shared(self) -> bool:
        return True

    async def open(self, stream: StreamIdentity) -> DynamoDBLeaseTable:
        keys = LeaseKeys(stream, self._multi_stream)
        call = await self._pool.run(self._prepared, keys)
        return DynamoDBLeaseTable(call, self._pool, self._table, keys)

    async def close(self) -> None:
        self._pool.close()
        for client in self._clients:
            client.close()
        self._clients.clear()

    # --- on a thread ------------------------------------------------------------------------

    def _prepared(self, keys: LeaseKeys) -> Call:
        """Makes sure that the table is there and is what it should be; returns how the protocol
        asks it."""
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.session import Session

        try:
            options = dict(self._options)
            session = Session(profile=options.pop("profile", None))
            patient = session.create_client("dynamodb", **options)
            config = Config(
                connect_timeout=TIMEOUT_S,
                read_timeout=TIMEOUT_S,
                retries={"total_max_attempts": 1},
                max_pool_connections=_THREADS,
            )
            client = session.create_client("dynamodb", config=config, **options)
            limits = Limits(connections=_THREADS, connect_s=TIMEOUT_S, silence_s=TIMEOUT_S)
            direct = direct_calls(session, client, options, limits=limits) if self._direct else None
            self._clients += [patient, client, *([direct] if direct is not None else [])]
            self._make_sure_of_table(patient)
            self._check_rows(patient, keys)
        except (ClientError, BotoCoreError, OSError) as error:  # a bundle that is not there
            raise LeaseTableError(f"the lease table {self._table} cannot be used: {error}") from (
                error
            )
        return direct.call if direct is not None else self._through(client)

    def _through(self, client: Any) -> Call:
        methods = {
            "DeleteItem": client.delete_item,
            "PutItem": client.put_item,
            "Scan": client.scan,
            "UpdateItem": client.update_item,
        }

        async def call(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
            return await self._pool.run(methods[operation], **request)

        return call

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
    """The verbs as conditional writes, each once."""

    def __init__(self, call: Call, pool: DaemonPool, table: str, keys: LeaseKeys) -> None:
        self._call = call
        self._pool = pool
        self._table = table
        self._keys = keys

    async def scan(self) -> list[Lease] | Unknown:
        items: list[Item] = []
        request: ScanRequest | None = scan_request(self._table, self._keys.prefix)
        while request is not None:
            page = await self._ask("Scan", request)
            if isinstance(page, Unknown | Refused):
                return page if isinstance(page, Unknown) else _NO_ANSWER
            if "Items" not in page:
                return _NO_ANSWER
            items += page["Items"]
            request = request_after(page, request)
        return await self._pool.run(self._leases, items)

    async def create(self, lease: Lease) -> Answer:
        request = requests.create(self._table, self._keys, lease)
        answer = await self._ask("PutItem", request)
        return answer if isinstance(answer, Refused | Unknown) else Done(lease)

    async def write(self, shard_id: str, counter: int, me: str, change: Change) -> Answer:
        request = requests.write(self._table, self._keys, shard_id, counter, me, change)
        return self._row_after(await self._ask("UpdateItem", request))

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        request = requests.take(self._table, self._keys, seen, me, start_ms)
        return self._row_after(await self._ask("UpdateItem", request))

    async def hand_off(self, shard_id: str, owner: str, me: str) -> Answer:
        request = requests.hand_off(self._table, self._keys, shard_id, owner, me)
        return self._row_after(await self._ask("UpdateItem", request))

    def owner_check(self, shard_id: str, me: str) -> OwnerCheck | None:
        return requests.owner_check(self._table, self._keys, shard_id, me)

    async def delete(self, shard_id: str, counter: int) -> Answer:
        request = requests.delete(self._table, self._keys, shard_id, counter)
        return self._row_after(await self._ask("DeleteItem", request))

    # --- inside -----------------------------------------------------------------------------

    def _row_after(self, answer: Mapping[str, Any] | Refused | Unknown) -> Answer:
        if isinstance(answer, Refused | Unknown):
            return answer
        row = answer.get("Attributes")
        return Done(lease_of(row, self._keys)) if row else _NO_ANSWER

    def _leases(self, items: list[Item]) -> list[Lease]:
        return [lease_of(item, self._keys) for item in items if is_lease(item)]

    async def _ask(
        self, operation: str, request: Mapping[str, Any]
    ) -> Mapping[str, Any] | Refused | Unknown:
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        # AttributeError: botocore's, for JSON that is no object.
        broken = (BotoCoreError, ResponseParserError, OSError, ValueError, AttributeError)
        try:
            return await self._call(operation, request)
        except ClientError as error:
            return self._refused(operation, error.response)
        except broken as error:
            return Unknown(f"{type(error).__name__}: {error}")

    def _refused(self, operation: str, response: Mapping[str, Any]) -> Refused | Unknown:
        told = response["Error"]
        if told["Code"] == "ConditionalCheckFailedException":
            item = response.get("Item")
            return Refused(lease_of(item, self._keys) if item else None)
        if operation == "Scan" and told["Code"] == "ResourceNotFoundException":
            # It was there when it was opened: no waiting brings it back.
            raise LeaseTableError(f"the lease table {self._table} is gone")
        return Unknown(f"{told['Code']}: {told.get('Message', '')}")


def scanned(client: Any, table: str) -> Iterator[Item]:
    """All items, strongly consistent, page after page."""
    request: ScanRequest | None = scan_request(table)
    while request is not None:
        page = client.scan(**request)
        yield from page["Items"]
        request = request_after(page, request)


def scan_request(table: str, prefix: str = "") -> ScanRequest:
    """For all items whose key begins with ``prefix``, strongly consistent."""
    request: ScanRequest = {"TableName": table, "ConsistentRead": True}
    if prefix:
        request["FilterExpression"] = "begins_with(leaseKey, :prefix)"
        request["ExpressionAttributeValues"] = {":prefix": {"S": prefix}}
    return request


def request_after(page: Mapping[str, Any], request: ScanRequest) -> ScanRequest | None:
    """For the page after ``page``; None if that was the last."""
    if "LastEvaluatedKey" not in page:
        return None
    return {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}
