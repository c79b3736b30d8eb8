"""One reader's work on one shard: what it has read, what is on its way, what is settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

from shardlane.consumer.delivery import Delivery
from shardlane.consumer.watermark import Watermark

RawRecord = Mapping[str, Any]
"""One of ``Records`` as Kinesis returns it, its arrival in epoch seconds."""


class Place(NamedTuple):
    """Where a record stands, how old it is and whose; without its payload, because 10,000 of
    them may be kept."""

    sequence_number: str
    sub: int
    arrival_ms: int
    partition_key: str


class InnerRecord(NamedTuple):
    """A record of an aggregate that was taken apart."""

    place: Place
    data: bytes


class Reading:
    """A shard from one start of its reader to the end of it: a lease's tenure, or the part of it
    between two seeks.

    When it is *closed* (lease lost, sought elsewhere, handed over) its waiting deliveries are
    forgotten, and what still runs cannot move a checkpoint any more.
    """

    __slots__ = (
        "aside",
        "closed",
        "deadline_s",
        "ended",
        "fence",
        "generation",
        "halted",
        "held_bytes",
        "inner",
        "lost",
        "notify",
        "pending",
        "pending_bytes",
        "recalled",
        "running",
        "shard_id",
        "skip_through",
        "stopped_at",
        "stream",
        "thirsty",
        "waiting",
        "watched",
        "watermark",
    )

    def __init__(
        self,
        *,
        stream: str,
        shard_id: str,
        fence: int = 0,
        generation: int = 0,
        skip_through: tuple[int, int] | None = None,
    ) -> None:
        self.stream = stream
        self.shard_id = shard_id
        self.fence = fence
        self.generation = generation
        self.skip_through = skip_through
        """(sequence number, sub): what a reader that started *at* a checkpoint reads again."""
        self.deadline_s = inf
        """From here on (monotonic) no handler starts: the lease may be another's."""
        self.closed = False
        self.lost = False
        """Closed because the lease is another's, or may be."""
        self.halted = False
        """Nothing more is read: only what has to be finished still starts."""
        self.stopped_at: float = inf
        """Of a halted reading: what arrived after this does not start any more."""
        self.ended = False
        """The shard has no more records than what was offered."""
        self.thirsty = False
        """The reader waits to be told that it may ask for more."""
        self.watched = False
        """The lease's keeper waits to be told that the mark has moved."""
        self.recalled: deque[Delivery] = deque()
        """Were in the channel and had to make room; they go first."""
        self.inner: deque[InnerRecord] = deque()
        """The rest of an aggregate; they go before what is pending."""
        self.pending: deque[RawRecord] = deque()
        """Read, but not yet in the channel."""
        self.pending_bytes = 0
        self.waiting = 0
        """Deliveries in the channel, not started."""
        self.aside = 0
        """Deliveries whose key backs off, or was let out again and has not been taken."""
        self.running = 0
        self.held_bytes = 0
        """Payload of deliveries that are not settled."""
        self.watermark: Watermark[Place] = Watermark()
        self.notify: Callable[[], None] = _nobody
        """Called when a thirsty reader may ask for more, when a watched mark moves, when a shard
        that has ended is drained, and when a delivery of a halted reading stops running."""

    @property
    def has_data(self) -> bool:
        """Whether there is something that could enter the channel."""
        return bool(self.pending or self.inner or self.recalled)

    @property
    def idle(self) -> bool:
        """Whether nothing of it runs or waits to be started."""
        return not (self.running or self.waiting or self.aside)

    @property
    def drained(self) -> bool:
        """Whether everything that was read is settled."""
        return not self.watermark.outstanding and not self.has_data


def _nobody() -> None:
    """Nobody waits."""
