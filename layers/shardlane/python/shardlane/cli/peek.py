"""``shardlane peek``: the record that failed, from the stream or from an on-failure message."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from shardlane.cli.account import account, add_account
from shardlane.cli.whole_number import whole_number
from shardlane.operations.errors import OperationError

if TYPE_CHECKING:
    from shardlane.operations.clients import Clients
    from shardlane.operations.on_failure_message import OnFailureMessage
    from shardlane.record import Record

MOST_RECORDS = 10_000


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "peek",
        help="show a record of the stream, or those of an on-failure message",
        description="Shows place, arrival, size and kind of a record; its payload and its key "
        "only if asked for. Reads only, and at most four times a second from a shard. A message "
        "of a queue or topic names the records, which are read from the stream while its "
        "retention lasts; an object of a bucket has them in itself.",
    )
    source = parser.add_argument_group("which record")
    source.add_argument("--stream", metavar="STREAM", help="name or ARN")
    source.add_argument("--shard", metavar="SHARD", help="default: whichever has the number")
    source.add_argument("--sequence", type=_number, metavar="NUMBER", help="its sequence number")
    source.add_argument(
        "--count",
        type=whole_number(1, MOST_RECORDS),
        default=1,
        metavar="N",
        help="so many from it on (default: 1)",
    )
    source.add_argument(
        "--message", metavar="FILE", help="an on-failure message instead; - is standard input"
    )
    parser.add_argument("--payload", action="store_true", help="show the data")
    parser.add_argument("--keys", action="store_true", help="show partition keys, not their hashes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_account(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    """Exits with 1 if a record that is asked for is not there."""
    from shardlane.operations.record_view import Shown, as_json, as_lines

    with account(given) as clients:
        records, wanted = _found(given, clients)
    shown = Shown(keys=given.keys, payload=given.payload)
    if given.json:
        print(json.dumps([as_json(each, shown) for each in records], indent=2))
    else:
        print("\n".join(line for each in records for line in as_lines(each, shown)))
    if len(records) < wanted:
        print(
            f"shardlane: {wanted - len(records)} of {wanted} records are not in the stream: "
            "expired, or never there",
            file=sys.stderr,
        )
        return 1
    return 0


def _found(given: argparse.Namespace, clients: Clients) -> tuple[list[Record], int]:
    """The records, and how many were asked for."""
    if given.message is not None:
        return _of_messages(given.message, clients)
    if given.stream is None or given.sequence is None:
        raise OperationError("peek needs --stream and --sequence, or --message")
    return list(_of_stream(given, clients)), 1  # --count is "up to": the shard may end before


def _of_stream(given: argparse.Namespace, clients: Clients) -> Iterator[Record]:
    from shardlane.operations.mapping import stream_of
    from shardlane.operations.record_view import record_from_stream
    from shardlane.operations.stream_reader import StreamReader, stream_arn

    kinesis = clients("kinesis")
    arn = stream_arn(kinesis, given.stream)
    reader = StreamReader(kinesis, arn)
    shard_id = given.shard
    if shard_id is None:
        there = reader.find(given.sequence)
        if there is None:
            return
        shard_id = there.shard_id
    for number, read in enumerate(reader.records(shard_id, given.sequence, most=given.count)):
        if number == 0 and read.sequence_number != given.sequence:
            return  # the record itself is gone; what follows is another one
        yield record_from_stream(read, stream_of(arn), arn)


def _of_messages(source: str, clients: Clients) -> tuple[list[Record], int]:
    from shardlane.operations.on_failure_message import messages_in

    messages = messages_in(_text(source))
    records = [record for each in messages for record in _of_message(each, clients)]
    return records, sum(each.size for each in messages)


def _of_message(message: OnFailureMessage, clients: Clients) -> Iterator[Record]:
    from shardlane.operations.record_view import record_from_entry, record_from_stream
    from shardlane.operations.stream_reader import StreamReader

    print(
        f"{message.stream} {message.shard_id}: {message.size} records given up at {message.at} "
        f"after {message.invocations} invocations ({message.condition})",
        file=sys.stderr,
    )
    if message.entries is not None:
        yield from map(record_from_entry, message.entries)
        return
    reader = StreamReader(clients("kinesis"), message.stream_arn)
    found = reader.records(message.shard_id, message.first, most=MOST_RECORDS)
    last = int(message.last)
    for read in takewhile(lambda each: int(each.sequence_number) <= last, found):
        yield record_from_stream(read, message.stream, message.stream_arn)


def _text(source: str) -> str:
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OperationError(f"{source} cannot be read: {error}") from error


def _number(value: str) -> str:
    if not (value.isascii() and value.isdigit()):
        raise argparse.ArgumentTypeError(f"{value!r} is no sequence number: digits only")
    return value
