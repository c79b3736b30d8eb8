"""``shardlane redrive``: sets parked keys going, and sends given-up records once more."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shardlane.cli.account import account, add_account, agreed
from shardlane.cli.lot import add_key, add_lot, lot_of
from shardlane.clock import SystemClock
from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.operations.errors import OperationError

if TYPE_CHECKING:
    from shardlane.operations.clients import Clients
    from shardlane.operations.message_source import MessageSource
    from shardlane.operations.parking_source import LotPlace, ParkedKey
    from shardlane.operations.unordered import Resent
    from shardlane.parking.redrive import Redriven


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "redrive",
        help="handle parked records in order and lift the quarantine; or send given-up ones again",
        description="Each parked record of a key goes to the consumer function itself, in order, "
        "until one fails or none is left; then the quarantine is lifted. At least once: the record "
        "that was running when a redrive was cut off is sent again. --from-s3 and --from-sqs take "
        "on-failure messages instead: their keys have gone on, so those records end BEHIND their "
        "keys' order and are marked unordered; a message is deleted when all its records are "
        "done. Asks before it changes anything. Exits with 1 if something is left.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    add_key(which)
    which.add_argument("--all", action="store_true", help="every quarantined key of the consumer")
    which.add_argument("--from-s3", metavar="s3://BUCKET/PREFIX", help="on-failure objects")
    which.add_argument("--from-sqs", metavar="QUEUE", help="a queue's name, URL or ARN")
    parser.add_argument("--skip-first", action="store_true", help="drop the key's first record")
    parser.add_argument("--reason", metavar="TEXT", help="with --skip-first: why, for the log")
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="with --from-…: remembers which records of unfinished messages are done",
    )
    parser.add_argument(
        "--whole-range",
        action="store_true",
        help="with --from-sqs: also if the batch had only some of the records in its range",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--keys", action="store_true", help="show partition keys, not their hashes")
    add_lot(parser)
    add_account(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    if given.skip_first and (given.key is None and given.key_hash is None):
        raise OperationError("--skip-first goes with one key: --key or --key-hash")
    if given.skip_first != bool(given.reason):
        raise OperationError("--skip-first and --reason go together: a record is dropped for good")
    with account(given) as clients:
        if given.from_s3 is not None or given.from_sqs is not None:
            return _resend(given, clients)
        return _redrive(given, clients, lot_of(given, clients))


# --- parked keys ------------------------------------------------------------------------------


def _redrive(given: argparse.Namespace, clients: Clients, place: LotPlace) -> int:
    from shardlane.operations.wording import counted

    keys = _chosen(given, clients, place)
    if not keys:
        print("nothing to redrive: no such key is quarantined")
        return 0
    records = counted(sum(each.depth for each in keys), "record")
    what = f"{counted(len(keys), 'key')} with {records}"
    skipping = ", without the first record" if given.skip_first else ""
    if given.dry_run:
        for each in keys:
            print(f"{_named(given, each)}  {counted(each.depth, 'record')}")
        print(f"would redrive {what}{skipping} through {given.function or 'the function'}")
        return 0
    if given.function is None:
        raise OperationError("redrive needs --function, the consumer function")
    if not agreed(f"Redrive {what}{skipping} through {given.function}?", yes=given.yes):
        return 1
    return _drive(given, clients, place, keys)


def _chosen(given: argparse.Namespace, clients: Clients, place: LotPlace) -> list[ParkedKey]:
    from shardlane.operations.parking_source import find_hash, open_store, parked_key, parked_keys

    if given.all:
        return list(parked_keys(clients, place))
    store = open_store(clients, place)
    hash_ = find_hash(store, place.consumer, key=given.key, hash_start=given.key_hash)
    found = parked_key(clients, place, hash_)
    return [] if found is None else [found]


def _drive(
    given: argparse.Namespace, clients: Clients, place: LotPlace, keys: list[ParkedKey]
) -> int:
    from shardlane.operations.parking_source import open_store
    from shardlane.operations.resend_messages import function_send, function_timeout_s
    from shardlane.parking.redrive import End, Redriver

    redriver = Redriver(
        open_store(clients, place),
        place.consumer,
        function_send(clients, given.function),
        timeout_ms=function_timeout_s(clients, given.function) * 1000,
        clock=SystemClock(),
    )
    left = 0
    for each in keys:
        try:
            done = redriver.redrive(each.gate.key_hash, skip_first=given.skip_first)
        except StoreUnavailable:
            raise
        except ParkingError as error:  # this key's: its payload is gone, say
            print(f"{_named(given, each)}  error: {error}", flush=True)
            left += 1
            continue
        print(f"{_named(given, each)}  {_told(done)}", flush=True)
        if done.skipped:
            print(f"shardlane: skipped one record: {given.reason}", file=sys.stderr, flush=True)
        left += done.end not in (End.LIFTED, End.NOT_QUARANTINED)
    return 1 if left else 0


def _named(given: argparse.Namespace, key: ParkedKey) -> str:
    from shardlane.operations.wording import shown_key

    return shown_key(key.gate.key, in_clear=given.keys)


def _told(done: Redriven) -> str:
    at = f" at {done.at.sequence_number}" if done.at is not None else ""
    reason = f": {done.reason}" if done.reason else ""
    return f"{done.end.value}, {done.handled} handled{at}{reason}"


# --- on-failure messages ----------------------------------------------------------------------


def _resend(given: argparse.Namespace, clients: Clients) -> int:
    from shardlane.operations.resend_messages import Resender
    from shardlane.operations.unordered import Fate, Journal
    from shardlane.operations.wording import counted

    source = _source(given, clients)
    count = source.count()
    messages, where = counted(count, "message"), given.from_s3 or given.from_sqs
    if given.dry_run or count == 0:
        print(f"about {messages} at {where}; their records would end BEHIND their keys' order")
        return 0
    question = (
        f"Send the records of about {messages} of {where} once more? They end BEHIND their keys' "
        "order."
    )
    if not agreed(question, yes=given.yes):
        return 1
    resender = Resender(
        clients,
        source,
        Journal(given.journal),
        function=given.function,
        whole_range=given.whole_range,
    )
    left = 0
    for letter, done in resender.run():
        print(f"{letter.id}  {_resent(done)}", flush=True)
        left += done.fate is Fate.KEPT
    return 1 if left else 0


def _source(given: argparse.Namespace, clients: Clients) -> MessageSource:
    from shardlane.operations.message_source import (
        BucketMessages,
        QueueMessages,
        bucket_and_prefix,
        queue_url,
    )
    from shardlane.operations.redrive_settings import LONGEST_LAMBDA_S
    from shardlane.operations.resend_messages import function_timeout_s

    if given.from_s3 is not None:
        bucket, prefix = bucket_and_prefix(given.from_s3)
        return BucketMessages(clients("s3"), bucket, prefix)
    timeout_s = (
        LONGEST_LAMBDA_S if given.function is None else function_timeout_s(clients, given.function)
    )
    sqs = clients("sqs")
    return QueueMessages(sqs, queue_url(sqs, given.from_sqs), timeout_s)


def _resent(done: Resent) -> str:
    parts = [f"{done.handled} handled (unordered)"]
    parts += [f"{done.before} done before"] if done.before else []
    parts += [f"{done.failed} failed"] if done.failed else []
    parts += [f"{done.held_back} held back behind a failed one"] if done.held_back else []
    reason = f": {done.reason}" if done.reason else ""
    fate = "deleted" if done.fate.value == "done" else "kept"
    return f"{fate}, {', '.join(parts)}{reason}"
