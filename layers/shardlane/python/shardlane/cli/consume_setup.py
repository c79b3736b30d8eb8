"""The arguments of ``shardlane consume`` as the parts of a subscription."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shardlane.errors import SettingsError

if TYPE_CHECKING:
    from shardlane.consumer import Source, StatsSink
    from shardlane.consumer.lease_store import LeaseStore
    from shardlane.parking.lot import ParkingLot
    from shardlane.policy import FailurePolicy


def handler_of(spec: str) -> Callable[[Any], Any]:
    """Raises ``SettingsError`` saying what is wrong with the name."""
    module_name, colon, name = spec.partition(":")
    if not (module_name and colon and name):
        raise SettingsError(f"--handler {spec!r}: allowed is MODULE:FUNCTION, e.g. orders:handle")
    sys.path.insert(0, str(os.getcwd()))  # noqa: PTH109 - as `python -m` does
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # Only if it is this module that is missing, and not one that it imports.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise SettingsError(
            f"--handler {spec!r}: there is no module {error.name} here or among what is installed"
        ) from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise SettingsError(f"--handler {spec!r}: {module_name} has no function {name}")
    handler: Callable[[Any], Any] = found
    return handler


def check(given: argparse.Namespace) -> None:
    """What contradicts itself, before anything is asked of the service."""
    if given.batch is not None and (given.workers != 1 or given.by_key):
        raise SettingsError(
            "--batch goes without --workers and --by-key: it is one batch at a time"
        )
    if given.on_failure == "park" and not given.parking_table:
        raise SettingsError("--on-failure park needs --parking-table")
    if given.on_failure != "park":
        for name in ("parking_table", "parking_bucket", "redrive"):
            if getattr(given, name):
                option = name.replace("_", "-")
                raise SettingsError(f"--{option} goes with --on-failure park only")


def source_of(given: argparse.Namespace) -> Source:
    from shardlane.consumer import Source

    kind, colon, name = given.source.partition(":")
    if given.source == "polling":
        return Source.polling(given.interval)
    if kind == "efo" and colon and name:
        return Source.fan_out(name)
    raise SettingsError(f"--source {given.source!r}: allowed are polling and efo:NAME")


def leases_of(given: argparse.Namespace) -> LeaseStore:
    from shardlane.consumer import DynamoDBLeaseStore, MemoryLeaseStore

    kind, colon, table = given.leases.partition(":")
    if given.leases == "memory":
        return MemoryLeaseStore()
    if kind == "dynamodb" and colon and table:
        return DynamoDBLeaseStore(table, **client_options(given))
    raise SettingsError(f"--leases {given.leases!r}: allowed are memory and dynamodb:TABLE")


def client_options(given: argparse.Namespace) -> dict[str, Any]:
    """Of a client; what was not given is left to the environment."""
    named = {
        "region_name": given.region,
        "profile": given.profile,
        "endpoint_url": given.endpoint_url,
    }
    return {name: value for name, value in named.items() if value is not None}


def policy_of(given: argparse.Namespace) -> FailurePolicy:
    from shardlane import FailurePolicy

    if given.on_failure == "park":
        return FailurePolicy.park(_lot(given), given.attempts)
    if given.on_failure == "drop":
        return FailurePolicy.drop(given.attempts)
    return FailurePolicy.stop(given.attempts)


def _lot(given: argparse.Namespace) -> ParkingLot:
    from shardlane.operations.clients import Clients
    from shardlane.parking.dynamodb_store import DynamoDBParkingStore
    from shardlane.parking.lot import ParkingLot

    clients = Clients(given.region, given.profile, given.endpoint_url)
    s3 = clients("s3", answer_within_s=10.0) if given.parking_bucket else None
    store = DynamoDBParkingStore(
        given.parking_table,
        given.parking_bucket,
        client=clients("dynamodb", answer_within_s=2.0),
        s3=s3,
    )
    return ParkingLot(consumer=application_of(given), store=store)


def application_of(given: argparse.Namespace) -> str:
    return given.consumer or str(given.stream).rpartition("/")[2]


def sink_of(given: argparse.Namespace) -> StatsSink | None:
    from shardlane.consumer import EmbeddedMetricStats

    if not given.metrics:
        return None
    stream = str(given.stream).rpartition("/")[2]
    return EmbeddedMetricStats(stream, application_of(given), with_key=given.keys)
