"""Where a subscription's numbers go: the port, and the two that come along."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

from shardlane.consumer.counters import Counters
from shardlane.consumer.stats import Stats
from shardlane.errors import SettingsError

_METRICS: dict[str, str] = {
    "RecordsHandled": "Count",
    "RecordsDropped": "Count",
    "RecordsParked": "Count",
    "HandlerFailures": "Count",
    "Retries": "Count",
    "RecordsRead": "Count",
    "BytesRead": "Bytes",
    "Throttles": "Count",
    "ReadErrors": "Count",
    "LeasesLost": "Count",
    "LeasesTaken": "Count",
    "Checkpoints": "Count",
    "Gaps": "Count",
    "Lag": "Milliseconds",
    "MillisBehindLatest": "Milliseconds",
    "CheckpointAge": "Milliseconds",
    "ChannelDepth": "Count",
    "OwnedShards": "Count",
    "UnsettledRecords": "Count",
    "KeysHeldUp": "Count",
}
"""What each line carries, with its unit. The counts are since the line before, for ``Sum``; the
others are of the moment, for ``Maximum``."""

_COUNTERS = {
    "RecordsHandled": "handled",
    "RecordsDropped": "dropped",
    "RecordsParked": "parked",
    "HandlerFailures": "failures",
    "Retries": "retries",
    "RecordsRead": "records_read",
    "BytesRead": "bytes_read",
    "Throttles": "throttles",
    "ReadErrors": "read_errors",
    "LeasesLost": "leases_lost",
    "LeasesTaken": "leases_taken",
    "Checkpoints": "checkpoints",
    "Gaps": "gaps",
}


class StatsSink(Protocol):
    """Takes what ``Subscription(report_to=…)`` gives it. Must return soon: it is called on the
    event loop."""

    def take(self, stats: Stats, now_ms: float) -> None:
        """``now_ms``: epoch milliseconds."""


class StatsInMemory:
    """The newest ones, for a health check, a test or a chart in the same process."""

    def __init__(self, most: int = 60) -> None:
        self.taken: deque[tuple[float, Stats]] = deque(maxlen=most)
        """(epoch milliseconds, stats), oldest first."""

    @property
    def newest(self) -> Stats | None:
        return self.taken[-1][1] if self.taken else None

    def take(self, stats: Stats, now_ms: float) -> None:
        self.taken.append((now_ms, stats))


class EmbeddedMetricStats:
    """One line a report in CloudWatch's embedded metric format, on stdout by default: what a
    container logs there becomes metrics without a call.

    Source: "Specification: Embedded metric format", Amazon CloudWatch User Guide.
    """

    def __init__(
        self,
        stream: str,
        application: str,
        *,
        namespace: str = "Shardlane",
        write: Callable[[str], None] | None = None,
        with_key: bool = False,
    ) -> None:
        """``stream`` and ``application`` are the dimensions. ``with_key``: the lines also say
        which key is the latest, as a property, never as a dimension. ``write`` gets a line
        without its end."""
        for name, value in (("stream", stream), ("application", application)):
            if not value or not value.isascii():
                raise SettingsError(f"{name}={value!r}: allowed is ASCII text, as a dimension")
        self._dimensions = {"StreamName": stream, "Application": application}
        self._namespace = namespace
        self._write = write if write is not None else _to_stdout
        self._with_key = with_key
        self._before = Counters()

    def take(self, stats: Stats, now_ms: float) -> None:
        self._write(json.dumps(self._document(stats, now_ms), separators=(",", ":")))

    # --- inside -----------------------------------------------------------------------------

    def _document(self, stats: Stats, now_ms: float) -> dict[str, Any]:
        directive = {
            "Namespace": self._namespace,
            "Dimensions": [list(self._dimensions)],
            "Metrics": [{"Name": name, "Unit": unit} for name, unit in _METRICS.items()],
        }
        return {
            "_aws": {"Timestamp": round(now_ms), "CloudWatchMetrics": [directive]},
            **self._dimensions,
            **self._since_before(stats.counters),
            **_of_the_moment(stats),
            **self._latest(stats),
        }

    def _since_before(self, counters: Counters) -> dict[str, int]:
        now, before = asdict(counters), asdict(self._before)
        if any(now[name] < before[name] for name in now):
            before = asdict(Counters())  # another run of the subscription
        self._before = counters
        return {metric: now[name] - before[name] for metric, name in _COUNTERS.items()}

    def _latest(self, stats: Stats) -> dict[str, str | None]:
        latest = stats.latest
        if latest is None:
            return {}
        found: dict[str, str | None] = {
            "LatestShard": latest.shard_id,
            "OldestSequenceNumber": latest.oldest_sequence_number,
        }
        if self._with_key:
            found["LatestKey"] = latest.oldest_key
        return found


def _of_the_moment(stats: Stats) -> dict[str, float]:
    shards = stats.shards
    return {
        "Lag": round(stats.lag_ms, 1),
        "MillisBehindLatest": max((each.behind_ms for each in shards), default=0),
        "CheckpointAge": round(max((each.checkpoint_age_ms for each in shards), default=0.0), 1),
        "ChannelDepth": stats.channel_depth,
        "OwnedShards": len(shards),
        "UnsettledRecords": sum(each.unsettled for each in shards),
        "KeysHeldUp": len(stats.held),
    }


def _to_stdout(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
