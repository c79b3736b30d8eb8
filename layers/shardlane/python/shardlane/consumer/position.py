"""Where a subscription starts, or is sought to: what a user asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from shardlane.consumer.checkpoint import AT_TIMESTAMP, HORIZON, LATEST, Checkpoint
from shardlane.errors import SettingsError

ALLOWED = "horizon, latest, timestamp:EPOCH_MS_OR_ISO, sequence:SHARD_ID:NUMBER"


@dataclass(frozen=True, slots=True)
class Position:
    """Made by ``horizon``, ``latest``, ``timestamp`` or ``sequence``."""

    kind: Literal["horizon", "latest", "timestamp", "sequence"]
    at_ms: int | None = None
    shard_id: str | None = None
    sequence_number: str | None = None

    @staticmethod
    def horizon() -> Position:
        """The oldest record that retention has left."""
        return Position("horizon")

    @staticmethod
    def latest() -> Position:
        """From now on, by the service's clock.

        "Now" is stored and kept, so that a restart before the first checkpoint loses nothing. The
        service tells its time in whole seconds: up to a second of older records may come along.
        """
        return Position("latest")

    @staticmethod
    def timestamp(at_ms: int) -> Position:
        """The first record that arrived at ``at_ms`` (epoch milliseconds) or later."""
        if isinstance(at_ms, bool) or not isinstance(at_ms, int) or at_ms < 0:
            raise SettingsError(f"timestamp {at_ms!r}: allowed are epoch milliseconds, 0 or more")
        return Position("timestamp", at_ms=at_ms)

    @staticmethod
    def sequence(shard_id: str, sequence_number: str) -> Position:
        """That record, in that shard; other shards start at the horizon."""
        if not (sequence_number.isascii() and sequence_number.isdigit()):
            raise SettingsError(f"sequence number {sequence_number!r}: allowed are decimal digits")
        return Position("sequence", shard_id=shard_id, sequence_number=sequence_number)

    @staticmethod
    def parse(text: str) -> Position:
        """The position that a command line names; raises ``SettingsError`` saying what may be."""
        kind, _, rest = text.partition(":")
        if text in ("horizon", "latest"):
            return Position.horizon() if text == "horizon" else Position.latest()
        if kind == "timestamp" and rest:
            return Position.timestamp(_epoch_ms(rest, text))
        shard_id, _, number = rest.rpartition(":")
        if kind == "sequence" and shard_id:
            return Position.sequence(shard_id, number)
        raise SettingsError(f"position {text!r}: allowed are {ALLOWED}")

    def checkpoint_for(self, shard_id: str) -> Checkpoint:
        """What a new lease of the shard says: nothing before this position is asked for."""
        if self.kind == "latest":
            return Checkpoint(LATEST)
        if self.kind == "timestamp":
            return Checkpoint(AT_TIMESTAMP)
        if self.kind == "sequence" and self.shard_id == shard_id and self.sequence_number:
            return Checkpoint(self.sequence_number, sub=-1)
        return HORIZON

    def start_ms(self, service_ms: float) -> int | None:
        """The time that a start by time is kept at; ``service_ms`` is the service's clock."""
        return int(service_ms) if self.kind == "latest" else self.at_ms


def _epoch_ms(text: str, whole: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SettingsError(f"position {whole!r}: allowed are {ALLOWED}") from error
    if moment.tzinfo is None:
        raise SettingsError(f"position {whole!r}: the time needs an offset, e.g. +00:00")
    return int(moment.timestamp() * 1000)
