"""The channel behind a lock, for readers on the event loop and handlers on any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shardlane.consumer.channel import Channel
from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.reading import Place, RawRecord, Reading


class Desk:
    """Every method may be called from every thread.

    ``on_work`` is called when something may have become startable, ``on_due`` with the time at
    which something will be, ``on_expired`` with a reading that was found past its deadline; all
    of them under the lock, so they must only pass the word on.
    """

    def __init__(self, channel: Channel, clock_s: Callable[[], float]) -> None:
        self._channel = channel
        self._clock_s = clock_s
        self.lock = threading.Lock()
        self.on_work: Callable[[], None] = _nobody
        self.on_due: Callable[[float], None] = _nobody_due
        self.on_expired: Callable[[Reading], None] = _nobody_expired

    # --- for readers ------------------------------------------------------------------------

    def offer(self, reading: Reading, records: Sequence[RawRecord]) -> None:
        with self.lock:
            self._channel.offer(reading, records)
            self.on_work()

    def end(self, reading: Reading) -> None:
        with self.lock:
            self._channel.end(reading)

    def has_room(self, reading: Reading) -> bool:
        """Whether the reader may ask for more; if not, the reading is notified later."""
        with self.lock:
            return self._channel.await_room(reading)

    def is_full(self, reading: Reading) -> bool:
        with self.lock:
            return self._channel.is_full(reading)

    # --- for the lease's keeper -------------------------------------------------------------

    def halt(self, reading: Reading) -> None:
        with self.lock:
            self._channel.halt(reading)
            self.on_work()

    def close(self, reading: Reading, *, lost: bool = False) -> None:
        with self.lock:
            self._channel.close(reading, lost=lost)
            self.on_work()

    def moved_past(self, reading: Reading, checkpoint: Checkpoint) -> Place | None:
        """The last record of the settled prefix, if it is another place than ``checkpoint``; if
        not, the reading is notified once it moves. A closed one has no such place."""
        with self.lock:
            place = None if reading.closed else reading.watermark.position
            if place is None or (place.sequence_number, place.sub) == checkpoint.place:
                reading.watched = True
                return None
            return place

    def is_idle(self, reading: Reading) -> bool:
        """Whether nothing of it runs or is going to start."""
        with self.lock:
            return reading.idle

    def has_ended(self, reading: Reading) -> bool:
        """Whether the shard has ended and everything in it is settled."""
        with self.lock:
            return reading.ended and reading.drained and not reading.closed

    # --- for drivers ------------------------------------------------------------------------

    def take(self) -> Delivery | None:
        """The delivery to start now, or None."""
        with self.lock:
            return self.take_locked()

    def take_locked(self) -> Delivery | None:
        """The same for a driver that holds ``lock``."""
        channel = self._channel
        delivery = channel.take(self._clock_s())
        if channel.expired:
            for reading in channel.expired:
                self.on_expired(reading)
            channel.expired.clear()
        if delivery is not None and channel.has_startable:
            self.on_work()
        return delivery

    def settle(self, delivery: Delivery) -> None:
        with self.lock:
            self._channel.settle(delivery)

    def set_aside(self, delivery: Delivery, due_s: float) -> None:
        with self.lock:
            self._channel.set_aside(delivery, due_s)
            self.on_work()
            self.on_due(due_s)

    def release(self, delivery: Delivery) -> None:
        with self.lock:
            self._channel.release(delivery)
            self.on_work()

    def may_start(self, delivery: Delivery) -> bool:
        """Whether a delivery that was taken a while ago may still start."""
        with self.lock:
            reading = delivery.reading
            if reading.closed or delivery.index > reading.stopped_at:
                return False
            return self._clock_s() < reading.deadline_s

    def joins_its_key(self, delivery: Delivery) -> bool:
        """Puts a delivery that was taken behind its key, if that has been set aside since."""
        with self.lock:
            return self._channel.joins_its_key(delivery)

    def behind(self, delivery: Delivery, most: int) -> list[Delivery]:
        """Up to so many that wait behind a delivery that was taken, of its key and its reading,
        oldest first; they go on waiting."""
        with self.lock:
            return self._channel.behind(delivery, most)

    # --- for looking at ---------------------------------------------------------------------

    def oldest(self, reading: Reading) -> Place | None:
        """The first record that is not settled."""
        with self.lock:
            return reading.watermark.oldest

    def is_ahead(self, reading: Reading, checkpoint: Checkpoint) -> bool:
        """Whether records have arrived, settled or not, that the checkpoint does not cover."""
        with self.lock:
            place = reading.watermark.position
            moved = place is not None and (place.sequence_number, place.sub) != checkpoint.place
            return moved or reading.watermark.outstanding > 0

    @property
    def depth(self) -> int:
        """Deliveries that have not started."""
        return self._channel.depth

    @property
    def keys_aside(self) -> int:
        return self._channel.keys_aside


def _nobody() -> None:
    """No driver runs yet."""


def _nobody_due(due_s: float) -> None:
    """No driver runs yet."""


def _nobody_expired(reading: Reading) -> None:
    """No lease is kept yet."""
