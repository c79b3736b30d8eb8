"""Which records go into the next PutRecords request: a pure decision.

PutRecords takes and refuses its entries one by one, and promises no order among them. So what is
to keep an order is never on its way twice: of each key, one record is in at most one request, and
the next one follows when it is acknowledged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from shardlane.producer.outgoing import Entry

MOST_ENTRIES = 500
MOST_BYTES = 10 * 1024 * 1024
"""Of one request (PutRecords, API Reference)."""


class _Queue:
    """What is left of one key, oldest first."""

    __slots__ = ("entries", "serial")

    def __init__(self, serial: int) -> None:
        self.entries: deque[Entry] = deque()
        self.serial = serial


class Outbox:
    """The records of one call until each is acknowledged or given up on. Times in seconds."""

    def __init__(self, entries: Iterable[Entry], *, ordered: bool) -> None:
        """Without ``ordered`` every record is its own queue."""
        queues: dict[object, _Queue] = {}
        self._ready: deque[_Queue] = deque()
        self._waiting: list[tuple[float, int, _Queue]] = []
        self._left = 0
        for entry in entries:
            name: object = entry.key if ordered else entry.index
            queue = queues.get(name)
            if queue is None:
                queue = queues[name] = _Queue(len(queues))
                self._ready.append(queue)
            queue.entries.append(entry)
            self._left += 1
        self._in_flight: dict[int, _Queue] = {}

    @property
    def is_done(self) -> bool:
        return not self._left

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    def next_due_s(self) -> float | None:
        """When the next record that waits may be tried again."""
        return self._waiting[0][0] if self._waiting else None

    def take(self, now_s: float) -> list[Entry]:
        """The next request's records, now on their way; empty if none may go now."""
        while self._waiting and self._waiting[0][0] <= now_s:
            # To the front: its key has waited long enough.
            self._ready.appendleft(heappop(self._waiting)[2])
        batch: list[Entry] = []
        room_bytes = MOST_BYTES
        while self._ready and len(batch) < MOST_ENTRIES:
            entry = self._ready[0].entries[0]
            if batch and entry.size_bytes > room_bytes:
                break
            room_bytes -= entry.size_bytes
            self._in_flight[entry.index] = self._ready.popleft()
            batch.append(entry)
        return batch

    def acknowledged(self, entry: Entry) -> None:
        """The stream has it; the next one of its key may go."""
        queue = self._in_flight.pop(entry.index)
        queue.entries.popleft()
        self._left -= 1
        if queue.entries:
            self._ready.append(queue)

    def failed(self, entry: Entry, due_s: float) -> None:
        """It goes again at ``due_s``, before anything else of its key."""
        queue = self._in_flight.pop(entry.index)
        heappush(self._waiting, (due_s, queue.serial, queue))

    def given_up(self, entry: Entry) -> list[Entry]:
        """It will not be sent, nor what follows of its key, which would overtake it: returns
        those."""
        queue = self._in_flight.pop(entry.index)
        following = list(queue.entries)[1:]
        self._left -= len(queue.entries)
        queue.entries.clear()
        return following
