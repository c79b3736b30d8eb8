"""What the lease table's service may answer instead: nothing of it is taken for a yes or a no."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shardlane.consumer.dynamodb_lease_store import DynamoDBLeaseStore
from shardlane.consumer.errors import LeaseTableError
from shardlane.consumer.lease import RENEWAL, Lease
from shardlane.consumer.lease_store import Done, LeaseTable, Refused, Unknown
from tests.contract_consumer.http_peer import Peer, answer, serving
from tests.contract_consumer.lease_tables import ME, OTHER, STREAM

PATIENCE_S = 20.0
OPTIONS: dict[str, Any] = {
    "region_name": "eu-west-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}
ACTIVE = {"Table": {"TableStatus": "ACTIVE"}}
JSON = b"Content-Type: application/x-amz-json-1.0\r\n"

Script = Callable[[Peer, dict[str, Any]], Awaitable[None]]


def row(shard_id: str, counter: int, owner: str | None = None) -> dict[str, Any]:
    item = {"leaseKey": {"S": shard_id}, "leaseCounter": {"N": str(counter)}}
    item |= {"checkpoint": {"S": "TRIM_HORIZON"}, "checkpointSubSequenceNumber": {"N": "0"}}
    item |= {"ownerSwitchesSinceCheckpoint": {"N": "0"}}
    return item | ({} if owner is None else {"leaseOwner": {"S": owner}})


def said(told: Any, status: bytes = b"200 OK") -> bytes:
    return answer(json.dumps(told).encode(), b"HTTP/1.1 " + status + b"\r\n" + JSON)


def refusal(code: str, **more: Any) -> bytes:
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return said({"__type": kind, "message": "no", **more}, b"400 Bad Request")


def asked(script: Script, act: Callable[[LeaseTable], Awaitable[Any]], direct: bool) -> Any:
    """What ``act`` returns on a table whose service answers as ``script`` says."""

    opening = [said(ACTIVE), said({"Items": []})]  # and the scan that looks whose table it is

    async def serve(peer: Peer) -> None:
        while True:
            request = json.loads(await peer.request())
            if opening:
                await peer.send(opening.pop(0))
            else:
                await script(peer, request)

    async def main() -> Any:
        async with serving(serve) as port:
            url = f"http://127.0.0.1:{port}"
            store = DynamoDBLeaseStore("leases", direct=direct, endpoint_url=url, **OPTIONS)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await act(await store.open(STREAM))
            finally:
                await store.close()
                await asyncio.sleep(0)

    return asyncio.run(main())


async def renewed(table: LeaseTable) -> Any:
    return await table.write("shard-1", 4, ME, RENEWAL)


ways = pytest.mark.parametrize("direct", [True, False], ids=["directly", "boto3"])


@ways
@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (refusal("ProvisionedThroughputExceededException"), "ProvisionedThroughputExceeded"),
        (refusal("ResourceNotFoundException"), "ResourceNotFound"),
        (said({}, b"500 Internal Server Error"), "500"),
        (answer(b"<html>", b"HTTP/1.1 503 Slow\r\n"), "503"),
        (answer(b"<html>Sign in</html>"), ""),
        (answer(b"[]"), ""),
        (answer(b"{}"), "no answer"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "no answer"),
        (b"", "Error"),
    ],
    ids=[
        "throttled",
        "no table",
        "failure",
        "no JSON",
        "a page",
        "a list",
        "nothing",
        "204",
        "cut",
    ],
)
def test_an_answer_that_decides_nothing_is_unknown(sent: bytes, reason: str, direct: bool) -> None:
    async def script(peer: Peer, _: dict[str, Any]) -> None:
        await peer.send(sent)
        if not sent:
            raise ConnectionError

    found = asked(script, renewed, direct)
    assert isinstance(found, Unknown)
    assert reason in found.reason


@ways
def test_no_answer_is_unknown_within_its_time(direct: bool) -> None:
    async def script(peer: Peer, _: dict[str, Any]) -> None:
        await peer.closed()

    assert isinstance(asked(script, renewed, direct), Unknown)


@ways
def test_a_refusal_shows_the_row_as_it_is(direct: bool) -> None:
    async def script(peer: Peer, request: dict[str, Any]) -> None:
        assert request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
        await peer.send(refusal("ConditionalCheckFailedException", Item=row("shard-1", 9, OTHER)))

    found = asked(script, renewed, direct)
    assert found == Refused(Lease(shard_id="shard-1", counter=9, owner=OTHER))


@ways
def test_a_yes_shows_the_row_after_it(direct: bool) -> None:
    async def script(peer: Peer, request: dict[str, Any]) -> None:
        await peer.send(said({"Attributes": row("shard-1", 5, ME)}))

    found = asked(script, renewed, direct)
    assert found == Done(Lease(shard_id="shard-1", counter=5, owner=ME))


@ways
def test_a_table_of_many_pages_is_read_to_its_end(direct: bool) -> None:
    async def script(peer: Peer, request: dict[str, Any]) -> None:
        assert request["ConsistentRead"] is True
        page = int(request.get("ExclusiveStartKey", {"leaseKey": {"S": "0"}})["leaseKey"]["S"])
        items = [row(f"shard-{page}-{number}", page) for number in range(400)]
        last = {"LastEvaluatedKey": {"leaseKey": {"S": str(page + 1)}}} if page < 2 else {}
        await peer.send(said({"Items": items, **last}))

    found = asked(script, lambda table: table.scan(), direct)
    assert len(found) == len({each.shard_id for each in found}) == 1_200
    assert {each.counter for each in found} == {0, 1, 2}


@ways
@pytest.mark.parametrize("at_page", [0, 1])
def test_half_a_table_is_no_table(at_page: int, direct: bool) -> None:
    async def script(peer: Peer, request: dict[str, Any]) -> None:
        if at_page == ("ExclusiveStartKey" in request):
            await peer.send(refusal("ProvisionedThroughputExceededException"))
        else:
            last = {"LastEvaluatedKey": {"leaseKey": {"S": "1"}}}
            await peer.send(said({"Items": [row("shard-1", 1)], **last}))

    found = asked(script, lambda table: table.scan(), direct)
    assert isinstance(found, Unknown)


@ways
@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"{}", b"[]"])
def test_what_is_no_table_is_not_taken_for_an_empty_one(body: bytes, direct: bool) -> None:
    async def script(peer: Peer, _: dict[str, Any]) -> None:
        await peer.send(answer(body))

    assert isinstance(asked(script, lambda table: table.scan(), direct), Unknown)


@ways
def test_a_table_that_is_gone_does_not_come_back(direct: bool) -> None:
    async def script(peer: Peer, _: dict[str, Any]) -> None:
        await peer.send(refusal("ResourceNotFoundException"))

    with pytest.raises(LeaseTableError, match="the lease table leases is gone"):
        asked(script, lambda table: table.scan(), direct)


@ways
def test_authorities_that_are_not_there(direct: bool) -> None:
    async def main() -> None:
        url = "https://127.0.0.1:1"
        options = {**OPTIONS, "endpoint_url": url, "verify": "/nowhere.pem"}
        store = DynamoDBLeaseStore("leases", direct=direct, **options)
        with pytest.raises(LeaseTableError, match="the lease table leases cannot be used"):
            await store.open(STREAM)
        await store.close()

    asyncio.run(main())
