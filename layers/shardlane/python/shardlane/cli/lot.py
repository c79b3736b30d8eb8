"""The arguments that say which parking lot, and which of its keys, a command works on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardlane.operations.clients import Clients
    from shardlane.operations.parking_source import LotPlace


def add_lot(parser: argparse.ArgumentParser) -> None:
    lot = parser.add_argument_group(
        "parking lot",
        "table and consumer; or the function that has them in PARKING_TABLE and PARKING_CONSUMER",
    )
    lot.add_argument("--table", metavar="TABLE", help="the parking table's name or ARN")
    lot.add_argument("--consumer", metavar="ID", help="the lot's consumer id")
    lot.add_argument("--bucket", metavar="BUCKET", help="of payloads too large for the table")
    lot.add_argument("--function", metavar="FUNCTION", help="the consumer function, name or ARN")


def lot_of(given: argparse.Namespace, clients: Clients) -> LotPlace:
    from shardlane.operations.parking_source import lot_place

    return lot_place(
        clients,
        table=given.table,
        consumer=given.consumer,
        bucket=given.bucket,
        function=given.function,
    )


def add_key(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument("--key", metavar="KEY", help="one partition key")
    group.add_argument(
        "--key-hash", metavar="HEX", help="one key by the start of its hash, as `parked` shows it"
    )
