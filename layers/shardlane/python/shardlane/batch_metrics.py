"""What a processor counts, for CloudWatch: written to standard output in the embedded metric
format, from which Lambda's log makes metrics.

There is no dimension but the consumer's name: never a key, a shard or a payload.
Source: "Embedded metric format specification", CloudWatch User Guide.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shardlane.keyed_batch import BatchOutcome

NAMESPACE: Final = "Shardlane"
COUNT: Final = "Count"
SECONDS: Final = "Seconds"
IDLE_S: Final = 30.0
"""An invocation in which nothing went wrong is told of at most so often by one sandbox: alarms
look at minutes, and a log line an invocation would cost more than the metrics."""


def print_line(line: str) -> None:
    # One write with its line end: the lines of several threads must not mix.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class BatchMetrics:
    """Tells of the outcomes of one consumer's invocations."""

    def __init__(self, consumer: str, *, write: Callable[[str], None] = print_line) -> None:
        """``consumer``: the dimension; its name in the parking lot if there is one."""
        self._consumer = consumer
        self._write = write
        self._told_s: float | None = None

    def tell(self, outcome: BatchOutcome, *, wall_ms: float, now_s: float) -> None:
        """``now_s`` is on a monotonic clock."""
        eventful = bool(outcome.failed or outcome.retries or outcome.parked or outcome.blocked)
        if not eventful and self._told_s is not None and now_s - self._told_s < IDLE_S:
            return
        self._told_s = now_s
        self._write(embedded(self._consumer, _values(outcome, wall_ms), wall_ms))


def _values(outcome: BatchOutcome, wall_ms: float) -> dict[str, tuple[float, str]]:
    values: dict[str, tuple[float, str]] = {
        "FailedRecords": (outcome.failed, COUNT),
        "RetriedRecords": (outcome.retries, COUNT),
        "ParkedRecords": (outcome.parked, COUNT),
        "DroppedRecords": (outcome.dropped, COUNT),
    }
    if outcome.quarantined is not None:
        since_ms = outcome.oldest_quarantine_ms
        age_s = 0.0 if since_ms is None else max(0.0, wall_ms - since_ms) / 1000
        values["ParkedKeys"] = (outcome.quarantined, COUNT)
        values["OldestParkedKeyAge"] = (round(age_s, 3), SECONDS)
    return values


def embedded(consumer: str, values: Mapping[str, tuple[float, str]], wall_ms: float) -> str:
    """The line from which CloudWatch takes ``values``: name → value and unit."""
    units = [{"Name": name, "Unit": unit} for name, (_, unit) in values.items()]
    document: dict[str, Any] = {
        "_aws": {
            "Timestamp": int(wall_ms),
            "CloudWatchMetrics": [
                {"Namespace": NAMESPACE, "Dimensions": [["consumer"]], "Metrics": units}
            ],
        },
        "consumer": consumer,
    }
    document |= {name: value for name, (value, _) in values.items()}
    return json.dumps(document, separators=(",", ":"))
