"""Tumbling windows: state carried from batch to batch of one shard.

Source: "Implementing stateful Kinesis Data Streams processing in Lambda", Lambda Developer Guide.
A record belongs to the window in which it arrived; a batch never spans two windows; the window's
last invocation says so, and until it succeeds nothing goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.local_lambda.checkpoint import OpenWindow
from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import MAX_STATE_BYTES, MappingIdentity

LATE_MS = 2000.0
"""How long a window waits after its end for records that arrived in it but were not read yet: the
poll interval and some."""


class Windows:
    """The open window of one slice, if any. Pure: time is an argument."""

    def __init__(
        self,
        length_s: int,
        identity: MappingIdentity,
        shard_id: str,
        resumed: OpenWindow | None = None,
    ) -> None:
        """``resumed`` is the window that was open when the mapping stopped."""
        self._length_ms = length_s * 1000.0
        self._identity = identity
        self._shard_id = shard_id
        self._start_ms = resumed.start_ms if resumed else None
        self._state: Mapping[str, Any] = resumed.state if resumed else {}

    @property
    def open(self) -> OpenWindow | None:
        return None if self._start_ms is None else OpenWindow(self._start_ms, self._state)

    @property
    def closes_ms(self) -> float:
        """When the open window closes if no more of its records come."""
        return float("inf") if self._start_ms is None else self._end_ms(self._start_ms) + LATE_MS

    @property
    def state_too_large(self) -> bool:
        return len(json.dumps(self._state, separators=(",", ":"))) > MAX_STATE_BYTES

    def together(self, first: Record, other: Record) -> bool:
        return self._window_of(first) == self._window_of(other)

    def must_close(self, upcoming: Record | None, now_ms: float) -> bool:
        """Whether the open window is over: the next record lies in another one, or its time has
        passed and there is no next record."""
        if self._start_ms is None:
            return False
        if upcoming is not None:
            return self._window_of(upcoming) != self._start_ms
        return now_ms >= self.closes_ms

    def enter(self, record: Record) -> None:
        """Opens the record's window with a fresh state, unless it is open already."""
        if self._start_ms is None:
            self._start_ms = self._window_of(record)
            self._state = {}

    def carry(self, state: Mapping[str, Any]) -> None:
        self._state = state

    def reset(self) -> None:
        """After an early end: the same window goes on with a fresh state."""
        self._state = {}

    def close(self) -> None:
        self._start_ms = None
        self._state = {}

    def members(self, *, final: bool = False, early: bool = False) -> dict[str, Any]:
        """What the event has besides its records."""
        assert self._start_ms is not None
        return {
            "window": {
                "start": _iso(self._start_ms),
                "end": _iso(self._end_ms(self._start_ms)),
            },
            "state": self._state,
            "shardId": self._shard_id,
            "eventSourceARN": self._identity.source_arn,
            "isFinalInvokeForWindow": final,
            "isWindowTerminatedEarly": early,
        }

    def _window_of(self, record: Record) -> float:
        return record.arrival_ms // self._length_ms * self._length_ms

    def _end_ms(self, start_ms: float) -> float:
        return start_ms + self._length_ms


def _iso(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000.0, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
