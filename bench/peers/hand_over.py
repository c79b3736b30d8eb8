"""The Kinesis Client Library, then our consumer, then the library again, on one lease table.

Each goes on where the one before it stopped, in the middle of a shard; a shard is split while ours
reads. Every record has to be seen, no key's order broken, and nothing that is not ours changed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from bench.peers.candidates import FIRST_READ, POLLING, Where, kcl, ours
from bench.peers.program import Program, running
from bench.peers.records import Stream, judged
from bench.peers.servers import REGION, local_aws, local_kinesis
from bench.peers.trial import FIRST_SHARD, PATIENCE_S, PER_S, STREAM
from shardlane_lab.local_aws.services import local_client

RECORDS = 8_000
SHARDS = 4
TABLE = "hand-over"
FOREIGN = "aLaterVersionsColumn"
OURS_TO_CHANGE = {
    "checkpoint",
    "checkpointOwner",
    "checkpointSubSequenceNumber",
    "childShardIds",
    "leaseCounter",
    "leaseOwner",
    "ownerSwitchesSinceCheckpoint",
    "slStartMs",
    "slStreamCreated",
    "slStreamName",
}

Item = Mapping[str, Mapping[str, Any]]
Rows = dict[str, Item]


def try_hand_over() -> tuple[bool, str]:
    """Whether it holds, and a sentence. Raises ``RuntimeError`` if a program fails."""
    with local_kinesis() as kinesis, local_aws() as services:
        stream = Stream.create(local_client("kinesis", kinesis.endpoint, REGION), STREAM, SHARDS)
        stream.put(RECORDS // 2, per_s=PER_S)
        where = Where(kinesis.endpoint, services.endpoint, STREAM, RECORDS, TABLE)
        return _three_turns(stream, services.client("dynamodb"), where)


def _three_turns(stream: Stream, dynamodb: Any, where: Where) -> tuple[bool, str]:
    first = _in_the_middle(kcl(where, POLLING, FIRST_READ))
    _add_foreign_column(dynamodb)
    before = _rows(dynamodb)
    second = _while_split(stream, where)
    changed = sorted(_changed(before, _rows(dynamodb)))
    third = _until_all_seen(stream, where, [*first, *second])
    verdict = judged(stream.puts, [*first, *second, *third])
    told = (
        f"{verdict}; the library {len(first)}, ours {len(second)}, the library {len(third)}; "
        f"{len(before)} rows, foreign attributes changed: {', '.join(changed) or 'none'}"
    )
    return verdict.holds and not changed, told


def _in_the_middle(command: list[Any]) -> list[str]:
    """Stopped while there is more to read."""
    with running(Program(command)) as program:
        program.wait_for_lines(RECORDS // 8, PATIENCE_S)
        return _stopped(program)


def _while_split(stream: Stream, where: Where) -> list[str]:
    """Ours reads on, across a split, and is stopped before it has seen everything."""
    with running(Program(ours(where, POLLING, "--leases", "dynamodb"))) as program:
        program.wait_for_lines(1, PATIENCE_S)
        stream.split(FIRST_SHARD)
        stream.put(RECORDS // 4, per_s=PER_S)
        program.wait_for_lines(RECORDS // 4, PATIENCE_S)
        lines = _stopped(program)
    stream.put(RECORDS // 4, per_s=PER_S)
    return lines


def _stopped(program: Program) -> list[str]:
    program.end_input()
    program.wait(PATIENCE_S)
    return program.lines()


def _until_all_seen(stream: Stream, where: Where, before: list[str]) -> list[str]:
    with running(Program(kcl(where, POLLING))) as program:
        wanted = {put.sequence_number for put in stream.puts} - set(_names(before))
        deadline_s = time.monotonic() + PATIENCE_S
        while wanted - set(_names(program.lines())) and time.monotonic() < deadline_s:
            time.sleep(0.5)
        return _stopped(program)


def _names(lines: list[str]) -> Iterator[str]:
    return (line.split(" ", 1)[0] for line in lines)


# --- the table --------------------------------------------------------------------------------


def _rows(dynamodb: Any) -> Rows:
    items = dynamodb.scan(TableName=TABLE, ConsistentRead=True)["Items"]
    return {item["leaseKey"]["S"]: item for item in items}


def _add_foreign_column(dynamodb: Any) -> None:
    """As a later version of the library might have one."""
    for key in _rows(dynamodb):
        dynamodb.update_item(
            TableName=TABLE,
            Key={"leaseKey": {"S": key}},
            UpdateExpression=f"SET {FOREIGN} = :value",
            ExpressionAttributeValues={":value": {"S": f"of {key}"}},
        )


def _changed(before: Rows, after: Rows) -> Iterator[str]:
    """Rows that are gone, and attributes that were not ours to change and are not as before."""
    for key, item in before.items():
        now = after.get(key)
        if now is None:
            yield key
            continue
        is_lease = item.get("entityType", {"S": "LEASE"})["S"] == "LEASE"
        for name in item.keys() | now.keys():
            if is_lease and name in OURS_TO_CHANGE:
                continue
            if item.get(name) != now.get(name):
                yield f"{key}.{name}"


if __name__ == "__main__":
    holds, told = try_hand_over()
    print(told)
    sys.exit(not holds)
