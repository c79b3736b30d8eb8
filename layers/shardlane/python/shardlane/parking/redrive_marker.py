"""The mark that a redrive puts on the one record that it sends to the consumer function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shardlane.errors import BadEvent, RedriveRefused
from shardlane.event_entry import OURS, RawRecord
from shardlane.keyed_batch import BatchOutcome
from shardlane.parking.lot import ParkingLot
from shardlane.parking.place import key_hash

_REDRIVE = "redrive"


@dataclass(frozen=True, slots=True)
class RedriveMarker:
    """Whose key is redriven, and by which run."""

    consumer: str
    key_hash: str
    holder: str


def marked(entry: RawRecord, marker: RedriveMarker) -> dict[str, Any]:
    """A copy of an event's entry that carries ``marker``."""
    return {**entry, OURS: {**entry.get(OURS, {}), _REDRIVE: asdict(marker)}}


def marker_of(entries: Sequence[Any]) -> RedriveMarker | None:
    """The marker of an event, None for one that comes from a mapping.

    Raises ``BadEvent`` for a marker that is damaged or has company.
    """
    ours = entries[0].get(OURS) if entries and isinstance(entries[0], dict) else None
    fields = ours.get(_REDRIVE) if isinstance(ours, dict) else None
    if fields is None:
        return None
    if len(entries) != 1:
        raise BadEvent(f"a redrive sends one record, not {len(entries)}")
    try:
        return RedriveMarker(**fields)
    except TypeError as error:
        raise BadEvent(f"the redrive's marker is damaged: {error}") from error


def check_hold(
    marker: RedriveMarker, lot: ParkingLot | None, key: str, now_ms: float, remaining_ms: float
) -> None:
    """Raises ``RedriveRefused`` unless the redrive holds the key for as long as this invocation
    may take: two redrives must not run one key at the same time."""
    if lot is None or lot.consumer != marker.consumer:
        raise RedriveRefused(f"this function does not park for consumer {marker.consumer!r}")
    if key_hash(key) != marker.key_hash:
        raise RedriveRefused("the record is not of the key that the redrive holds")
    gate = lot.open().gate(marker.consumer, marker.key_hash)
    if gate is None or gate.holder != marker.holder:
        raise RedriveRefused("the redrive does not hold the key any more")
    if (gate.hold_until_ms or 0) < now_ms + remaining_ms:
        raise RedriveRefused("the redrive's hold ends before this invocation has to")


def answer_of(outcome: BatchOutcome) -> dict[str, Any]:
    """What a redriven record's response says beside the identifier: that this function knows
    redrives, and why the record failed."""
    reasons = [failure.reason for failure in outcome.first_failures]
    return {_REDRIVE: {"reason": reasons[0] if reasons else None}}


def reason_in(response: Any) -> tuple[bool, str | None]:
    """Whether a function's response answers a redrive, and the reason of the failure in it."""
    ours = response.get(OURS) if isinstance(response, dict) else None
    answer = ours.get(_REDRIVE) if isinstance(ours, dict) else None
    if not isinstance(answer, dict):
        return False, None
    return True, answer.get("reason")
