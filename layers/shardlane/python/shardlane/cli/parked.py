"""``shardlane parked`` and ``shardlane why``: what waits in a parking lot, and why."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from shardlane.cli.account import account, add_account, agreed
from shardlane.cli.lot import add_key, add_lot, lot_of
from shardlane.clock import SystemClock

if TYPE_CHECKING:
    from shardlane.operations.clients import Clients
    from shardlane.operations.parking_source import LotPlace


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "parked",
        help="the quarantined keys of a consumer, or the parked records of one",
        description="Lists the keys that are quarantined: since when, how many records wait, how "
        "often the first one was tried and why it failed. With --key the records of that key. "
        "Never a payload. --sweep lists objects of the payload bucket that no record names any "
        "more, and deletes them if you agree.",
    )
    which = parser.add_mutually_exclusive_group()
    add_key(which)
    which.add_argument("--sweep", action="store_true", help="remove orphaned payload objects")
    parser.add_argument("--dry-run", action="store_true", help="with --sweep: list, delete nothing")
    parser.add_argument("--yes", action="store_true", help="with --sweep: do not ask")
    parser.add_argument("--keys", action="store_true", help="show partition keys, not their hashes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_lot(parser)
    add_account(parser)
    parser.set_defaults(execute=execute)
    _add_why(commands)


def _add_why(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "why",
        help="why a key does not move",
        description="Says whether a key is quarantined, since when, by which record, what was "
        "tried, and how to set it going. Exits with 1 if it is quarantined.",
    )
    add_key(parser.add_mutually_exclusive_group(required=True))
    parser.add_argument("--keys", action="store_true", help="show partition keys, not their hashes")
    add_lot(parser)
    add_account(parser)
    parser.set_defaults(execute=execute_why)


def execute(given: argparse.Namespace) -> int:
    with account(given) as clients:
        place = lot_of(given, clients)
        if given.sweep:
            return _sweep(given, clients, place)
        if given.key is not None or given.key_hash is not None:
            return _show_records(given, clients, place)
        return _show_keys(given, clients, place)


def _show_keys(given: argparse.Namespace, clients: Clients, place: LotPlace) -> int:
    from shardlane.operations.parked_report import keys_json, keys_text
    from shardlane.operations.parking_source import parked_keys

    found = list(parked_keys(clients, place))
    if given.json:
        print(json.dumps(keys_json(found, in_clear=given.keys), indent=2))
    else:
        print(keys_text(found, SystemClock.wall_ms(), in_clear=given.keys))
    return 0


def _show_records(given: argparse.Namespace, clients: Clients, place: LotPlace) -> int:
    from shardlane.operations.parked_report import records_json, records_text
    from shardlane.operations.parking_source import find_hash, open_store

    store = open_store(clients, place)
    hash_ = find_hash(store, place.consumer, key=given.key, hash_start=given.key_hash)
    records = store.parked(place.consumer, hash_)
    if given.json:
        print(json.dumps(records_json(records), indent=2))
    else:
        print(records_text(records, SystemClock.wall_ms()))
    return 0


def _sweep(given: argparse.Namespace, clients: Clients, place: LotPlace) -> int:
    from shardlane.operations.orphans import delete_orphan, find_orphans
    from shardlane.operations.wording import bytes_text, counted

    found = find_orphans(clients, place, SystemClock.wall_ms())
    for each in found:
        print(f"s3://{place.bucket}/{each.key}  {bytes_text(each.size_bytes)}")
    objects = counted(len(found), "object")
    size = bytes_text(sum(each.size_bytes for each in found))
    print(f"{objects} without a parked record, {size}")
    if not found or given.dry_run or not agreed(f"Delete {objects}?", yes=given.yes):
        return 0
    for each in found:
        delete_orphan(clients, place, each)
    print(f"{objects} deleted")
    return 0


def execute_why(given: argparse.Namespace) -> int:
    from shardlane.operations.parked_report import why_text
    from shardlane.operations.parking_source import find_hash, open_store, parked_key

    with account(given) as clients:
        place = lot_of(given, clients)
        store = open_store(clients, place)
        hash_ = find_hash(store, place.consumer, key=given.key, hash_start=given.key_hash)
        found = parked_key(clients, place, hash_)
    key = found.gate.key if found is not None else given.key
    now_ms = SystemClock.wall_ms()
    print(
        why_text(place, key or hash_, found, now_ms, in_clear=given.keys, function=given.function)
    )
    return 0 if found is None else 1
