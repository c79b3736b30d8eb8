"""Process Amazon Kinesis Data Streams by partition key.

The public names are those in ``__all__``; what is not listed may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlane.backoff import Backoff as Backoff
    from shardlane.errors import BadEvent as BadEvent
    from shardlane.errors import BadRecord as BadRecord
    from shardlane.errors import ParkingError as ParkingError
    from shardlane.errors import SettingsError as SettingsError
    from shardlane.errors import ShardlaneError as ShardlaneError
    from shardlane.outcome import Drop as Drop
    from shardlane.outcome import Park as Park
    from shardlane.parking.lot import ParkingLot as ParkingLot
    from shardlane.policy import FailurePolicy as FailurePolicy
    from shardlane.processor import KeyedBatchProcessor as KeyedBatchProcessor
    from shardlane.record import Record as Record

# A name's module is imported when the name is first used: a function pays at its cold start for
# what it uses, and the package imports without boto3.
_HOMES = {
    "Backoff": "backoff",
    "BadEvent": "errors",
    "BadRecord": "errors",
    "Drop": "outcome",
    "FailurePolicy": "policy",
    "KeyedBatchProcessor": "processor",
    "Park": "outcome",
    "ParkingError": "errors",
    "ParkingLot": "parking.lot",
    "Record": "record",
    "SettingsError": "errors",
    "ShardlaneError": "errors",
}

__all__ = [
    "Backoff",
    "BadEvent",
    "BadRecord",
    "Drop",
    "FailurePolicy",
    "KeyedBatchProcessor",
    "Park",
    "ParkingError",
    "ParkingLot",
    "Record",
    "SettingsError",
    "ShardlaneError",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
