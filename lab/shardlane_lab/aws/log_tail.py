"""Reads the functions' latency lines from CloudWatch Logs while and after a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shardlane.latency import MESSAGE, samples_in_text
from shardlane_lab.aws.errors import explained

OVERLAP_MS = 120_000
"""Lines become visible out of order and late: each look begins so long before the newest line that
the last one found, and knows again what it has seen."""
PATTERN = f'"{MESSAGE}"'


class LogTail:
    """One function's log group; ``read`` blocks."""

    def __init__(self, logs: Any, log_group: str, since_ms: float) -> None:
        """``since_ms``: what was sent before is not this run's."""
        self._logs = logs
        self._log_group = log_group
        self._since_ms = since_ms
        self._from_ms = int(since_ms)
        self._seen: set[str] = set()

    def read(self) -> list[dict[str, Any]]:
        """The fields of every sample that has come since the last look, page by page."""
        samples = []
        newest_ms = self._from_ms
        for event in self._events():
            newest_ms = max(newest_ms, event["timestamp"])
            if event["eventId"] in self._seen:
                continue
            self._seen.add(event["eventId"])
            samples += [
                values
                for values in samples_in_text(event["message"])
                if values["sent_ms"] >= self._since_ms
            ]
        self._from_ms = max(int(self._since_ms), newest_ms - OVERLAP_MS)
        return samples

    def _events(self) -> Iterator[dict[str, Any]]:
        request: dict[str, Any] = {
            "logGroupName": self._log_group,
            "startTime": self._from_ms,
            "filterPattern": PATTERN,
        }
        with explained(f"the log group {self._log_group}"):
            while True:
                page = self._logs.filter_log_events(**request)
                yield from page["events"]
                if "nextToken" not in page:
                    return
                request["nextToken"] = page["nextToken"]
