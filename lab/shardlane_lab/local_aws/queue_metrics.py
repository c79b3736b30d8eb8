"""What SQS publishes of a queue: how many messages wait, and how old the oldest is.

Source: "Available CloudWatch metrics for Amazon SQS", Amazon SQS Developer Guide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shardlane_lab.metric import Datum, Observer, dimensions

INTERVAL_S = 10.0
DEPTH = "ApproximateNumberOfMessages"


class QueueAges:
    """Since when each queue has not been empty. The local service tells depths and no ages, so the
    oldest message counts as old as that: exact as long as nothing was taken out."""

    def __init__(self) -> None:
        self._since_ms: dict[str, float] = {}

    def data(self, queue: str, depth: int, now_ms: float) -> Iterator[Datum]:
        """Both metrics of one queue."""
        if depth == 0:
            self._since_ms.pop(queue, None)
        since_ms = self._since_ms.setdefault(queue, now_ms) if depth else now_ms
        where = dimensions(QueueName=queue)
        age_s = (now_ms - since_ms) / 1000
        for name, value, unit in (
            ("ApproximateNumberOfMessagesVisible", float(depth), "Count"),
            ("ApproximateAgeOfOldestMessage", age_s, "Seconds"),
        ):
            yield Datum("AWS/SQS", name, where, value, now_ms, unit)


class QueueMetrics:
    """Asks for the depths and tells the observer, until it is cancelled."""

    def __init__(
        self,
        queues: Sequence[str],
        client: Callable[[str], Any],
        observer: Observer,
        wall_ms: Callable[[], float],
    ) -> None:
        """``client`` gives the client of a service by its name."""
        self._queues = queues
        self._sqs = client("sqs")
        self._observer = observer
        self._wall_ms = wall_ms
        self._ages = QueueAges()

    async def run(self) -> None:
        while True:
            depths = await asyncio.to_thread(self._depths)
            for queue, depth in depths.items():
                for datum in self._ages.data(queue, depth, self._wall_ms()):
                    self._observer(datum)
            await asyncio.sleep(INTERVAL_S)

    def _depths(self) -> dict[str, int]:
        return {queue: self._depth(queue) for queue in self._queues}

    def _depth(self, queue: str) -> int:
        try:
            url = self._sqs.get_queue_url(QueueName=queue)["QueueUrl"]
            answer = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[DEPTH])
        except self._sqs.exceptions.QueueDoesNotExist:
            return 0  # somebody has deleted it, as is their right
        return int(answer["Attributes"][DEPTH])
