"""Which delivery may start next: the pure heart of keyed consumption.

No thread, clock or log is in here. It differs from the Lambda scheduler (``shardlane.schedule``)
where the worlds differ: there a batch is known as a whole and any worker takes any key; here
records keep coming, and a key belongs to one lane.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import chain, islice
from zlib import crc32

from shardlane.consumer.delivery import Delivery
from shardlane.consumer.reading import Reading


class Lane:
    """Deliveries that run one after the other (or up to ``Lanes.width`` at once)."""

    __slots__ = ("listed", "queue", "returning", "running")

    def __init__(self) -> None:
        self.queue: deque[Delivery] = deque()
        """Waiting for their first start."""
        self.returning: deque[Delivery] = deque()
        """First of their key among those set aside, and free to start."""
        self.running = 0
        self.listed = False
        """Whether it stands among the lanes that have something to start."""


class _Aside:
    """A key that is backing off, with everything of it that arrived meanwhile."""

    __slots__ = ("following", "head", "out")

    def __init__(self, head: Delivery) -> None:
        self.head = head
        self.following: deque[Delivery] = deque()
        self.out = False
        """The head may start, or runs."""


class Lanes:
    """``count`` lanes of ``width`` deliveries at once.

    One lane of width 1 is the plain loop, ``n`` lanes of width 1 keep the order of keys, one lane
    of width ``n`` is a pool without order. A key that failed is set aside until its next attempt;
    its lane goes on with its other keys.
    """

    def __init__(self, count: int = 1, width: int = 1) -> None:
        self._width = width
        self._lanes = tuple(Lane() for _ in range(count))
        self._ready: deque[Lane] = deque()
        self._aside: dict[str | Delivery, _Aside] = {}
        self._due: list[tuple[float, int, str | Delivery, _Aside]] = []
        self._serial = 0
        self.waiting = 0
        """Deliveries that have not started and are not set aside: what fills the channel."""
        self.waiting_bytes = 0

    def lane_of(self, key: str | None) -> int:
        """The lane that a key always has: CRC-32 of its UTF-8 bytes modulo the lanes."""
        if key is None or len(self._lanes) == 1:
            return 0
        return crc32(key.encode("utf-8", "surrogatepass")) % len(self._lanes)

    def push(self, delivery: Delivery) -> None:
        """A delivery enters behind all others of its lane."""
        lane = delivery.lane = self._lanes[self.lane_of(delivery.key)]
        lane.queue.append(delivery)
        delivery.reading.waiting += 1
        self.waiting += 1
        self.waiting_bytes += delivery.size_bytes
        if not lane.listed:
            self._list(lane)

    def take(self) -> Delivery | None:
        """The oldest startable delivery of the lane whose turn it is, now running; or None."""
        ready = self._ready
        while ready:
            lane = ready.popleft()
            delivery = self._next_of(lane)
            lane.listed = False
            if delivery is not None:
                lane.running += 1
                delivery.reading.running += 1
                self._list(lane)
                return delivery
        return None

    @property
    def has_startable(self) -> bool:
        """Whether ``take`` may find something; it may still find only keys that are set aside."""
        return bool(self._ready)

    def finish(self, delivery: Delivery) -> None:
        """The delivery that was taken is done with; the next of its key may start."""
        lane = delivery.lane
        lane.running -= 1
        delivery.reading.running -= 1
        if self._aside:
            self._after(delivery)
        if not lane.listed:
            self._list(lane)

    def set_aside(self, delivery: Delivery, due_s: float) -> None:
        """The delivery that was taken starts again at ``due_s``; its key waits until then."""
        lane = delivery.lane
        lane.running -= 1
        delivery.reading.running -= 1
        delivery.reading.aside += 1
        name = _name(delivery)
        aside = self._aside.get(name)
        if aside is not None and aside.head is not delivery:
            aside.following.append(delivery)  # a batch took several of the key
        else:
            if aside is None:
                aside = self._aside[name] = _Aside(delivery)
            aside.out = False
            self._serial += 1
            heappush(self._due, (due_s, self._serial, name, aside))
        if not lane.listed:
            self._list(lane)

    def is_aside(self, delivery: Delivery) -> bool:
        """Whether another delivery of its key is set aside, and this one has to wait behind it."""
        aside = self._aside.get(_name(delivery))
        return aside is not None and aside.head is not delivery

    def behind(self, delivery: Delivery, most: int) -> list[Delivery]:
        """What waits behind a running delivery, of its key and its reading: the oldest ones, and
        they stay where they are."""
        if delivery.key is None:
            return []
        aside = self._aside.get(delivery.key)
        following = aside.following if aside is not None and aside.head is delivery else ()
        waiting = chain(following, delivery.lane.queue)
        return list(islice((each for each in waiting if _is_behind(each, delivery)), most))

    def wake(self, now_s: float) -> None:
        """Lets the keys start again whose wait is over."""
        while self._due and self._due[0][0] <= now_s:
            _, _, name, aside = heappop(self._due)
            if self._aside.get(name) is aside and not aside.out:
                self._let_out(aside)

    def next_due_s(self) -> float | None:
        """When the next key may start again (or earlier, if its reading was closed)."""
        return self._due[0][0] if self._due else None

    @property
    def keys_aside(self) -> int:
        return len(self._aside)

    def recall(self, reading: Reading, count: int) -> list[Delivery]:
        """Takes the ``count`` youngest waiting deliveries of a reading out again, oldest first."""
        mine = [each for lane in self._lanes for each in lane.queue if each.reading is reading]
        mine.sort(key=lambda each: each.index)
        recalled = mine[len(mine) - count :] if count else []
        gone = set(recalled)
        for lane in dict.fromkeys(each.lane for each in recalled):
            lane.queue = deque(each for each in lane.queue if each not in gone)
        for each in recalled:
            self._left(each)
        return recalled

    def forget(self, reading: Reading, beyond: float = -1) -> None:
        """What arrived after ``beyond`` of a reading is gone, but for what runs."""

        def stays(each: Delivery) -> bool:
            return each.reading is not reading or each.index <= beyond

        for lane in self._lanes:
            for each in lane.queue:
                if not stays(each):
                    self._left(each)
            lane.queue = deque(filter(stays, lane.queue))
        for name, aside in list(self._aside.items()):
            self._thin_out(name, aside, stays)

    def first_aside(self, reading: Reading) -> int | None:
        """The earliest arrival of a reading that waits for its next attempt."""
        heads = (each.head for each in self._aside.values() if not each.out)
        return min((head.index for head in heads if head.reading is reading), default=None)

    def unstarted(self, reading: Reading) -> set[int]:
        """The arrivals of a reading that wait in a lane or behind a key that is set aside."""
        found = {each.index for each in self.queued() if each.reading is reading}
        for aside in self._aside.values():
            found.update(each.index for each in aside.following if each.reading is reading)
        return found

    def queued(self) -> Iterator[Delivery]:
        """What waits for its first start."""
        for lane in self._lanes:
            yield from lane.queue

    # --- inside -----------------------------------------------------------------------------

    def _list(self, lane: Lane) -> None:
        if lane.running < self._width and (lane.queue or lane.returning):
            lane.listed = True
            self._ready.append(lane)

    def _next_of(self, lane: Lane) -> Delivery | None:
        if lane.running >= self._width:
            return None
        if lane.returning:
            delivery = lane.returning.popleft()
            delivery.reading.aside -= 1
            return delivery
        queue = lane.queue
        while queue:
            delivery = queue.popleft()
            self._left(delivery)
            aside = self._aside.get(_name(delivery)) if self._aside else None
            if aside is None:
                return delivery
            aside.following.append(delivery)
            delivery.reading.aside += 1
        return None

    def _left(self, delivery: Delivery) -> None:
        delivery.reading.waiting -= 1
        self.waiting -= 1
        self.waiting_bytes -= delivery.size_bytes

    def _let_out(self, aside: _Aside) -> None:
        aside.out = True
        lane = aside.head.lane
        lane.returning.append(aside.head)
        if not lane.listed:
            self._list(lane)

    def _after(self, delivery: Delivery) -> None:
        """The key of a finished delivery goes on with what was set aside behind it."""
        name = _name(delivery)
        aside = self._aside.get(name)
        if aside is None or aside.head is not delivery:
            return
        if aside.following:
            aside.head = aside.following.popleft()
            self._let_out(aside)
        else:
            del self._aside[name]

    def _thin_out(
        self, name: str | Delivery, aside: _Aside, stays: Callable[[Delivery], bool]
    ) -> None:
        for each in aside.following:
            each.reading.aside -= not stays(each)
        aside.following = deque(filter(stays, aside.following))
        head, lane = aside.head, aside.head.lane
        if stays(head):
            return
        if aside.out and head not in lane.returning:
            return  # it runs: ``finish`` lets the next one out
        if aside.out:
            lane.returning.remove(head)
        head.reading.aside -= 1
        if aside.following:
            aside.head = aside.following.popleft()
            self._let_out(aside)
        else:
            del self._aside[name]


def _is_behind(waiting: Delivery, delivery: Delivery) -> bool:
    return waiting.reading is delivery.reading and waiting.key == delivery.key


def _name(delivery: Delivery) -> str | Delivery:
    return delivery if delivery.key is None else delivery.key
