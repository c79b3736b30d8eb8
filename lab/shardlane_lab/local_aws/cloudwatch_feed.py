"""What functions log and services count, on its way to CloudWatch Logs and CloudWatch.

``log`` and ``observe`` only remember; one task publishes what has gathered, in a thread, so that
nothing that is measured waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from shardlane_lab.local_aws.gathered import Gathered, LogLine
from shardlane_lab.metric import Datum

INTERVAL_S = 1.0
ENTRIES_A_REQUEST = 1000
"""Quota of ``PutMetricData``."""
EVENTS_A_REQUEST = 1000

LogPlace = tuple[str, str]
"""Log group and log stream."""


class CloudWatchFeed:
    """``places`` says where each function logs. ``client`` gives the client of a service."""

    def __init__(
        self,
        client: Callable[[str], Any],
        places: Mapping[str, LogPlace],
        wall_ms: Callable[[], float],
    ) -> None:
        self._places = places
        self._wall_ms = wall_ms
        self._logs = client("logs")
        self._cloudwatch = client("cloudwatch")
        self._gathered = Gathered()
        self._streams: set[str] = set()

    def log(self, function_name: str, line: str) -> None:
        """For ``LocalFunction``'s ``on_log``."""
        self._gathered.log(function_name, line, self._wall_ms())

    def observe(self, datum: Datum) -> None:
        """An ``Observer``."""
        self._gathered.observe(datum)

    async def run(self) -> None:
        """Publishes until it is cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self.publish()

    async def publish(self) -> None:
        """What has gathered, at once."""
        gathered, self._gathered = self._gathered, Gathered()
        await asyncio.to_thread(self._send, gathered)

    def _send(self, gathered: Gathered) -> None:
        for function_name, lines in gathered.lines.items():
            self._send_lines(function_name, lines)
        for namespace, entries in gathered.metric_data().items():
            for chunk in _chunks(entries, ENTRIES_A_REQUEST):
                self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=chunk)

    def _send_lines(self, function_name: str, lines: Iterable[LogLine]) -> None:
        group, stream = self._places[function_name]
        if function_name not in self._streams:
            self._create(group, stream)
            self._streams.add(function_name)
        events = [{"timestamp": int(line.at_ms), "message": line.text} for line in lines]
        for chunk in _chunks(events, EVENTS_A_REQUEST):
            self._logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=chunk)

    def _create(self, group: str, stream: str) -> None:
        """A function without a group of its own in the template gets the service's at its first
        line, as on AWS."""
        exists = self._logs.exceptions.ResourceAlreadyExistsException
        for create, names in (
            (self._logs.create_log_group, {"logGroupName": group}),
            (self._logs.create_log_stream, {"logGroupName": group, "logStreamName": stream}),
        ):
            try:
                create(**names)
            except exists:
                continue


def _chunks(items: Iterable[Any], size: int) -> Iterable[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
