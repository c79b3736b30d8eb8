"""The one bounded channel between all readers of a subscription and its lanes.

Pure: readers offer what they have read, drivers take what may start and report back. A full
channel keeps back what was offered, so a reader that watches its own backlog stops reading;
nothing is dropped and nothing times out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from shardlane import aggregate
from shardlane.consumer.bounds import Bounds
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.held_record import HeldRecord, held_record
from shardlane.consumer.lanes import Lanes
from shardlane.consumer.reading import InnerRecord, Place, RawRecord, Reading

KeyOf = Callable[[HeldRecord], str | None]
"""What keeps its order; None for a record that keeps none."""


class Channel:
    """Deliveries that have not started, at most ``bounds.channel_records`` of them.

    Each shard that has data gets a fair share of the places, one at a time if there are more
    shards than places; a shard that filled it all while it was alone gives places back.
    """

    def __init__(self, lanes: Lanes, bounds: Bounds, key_of: KeyOf) -> None:
        self._lanes = lanes
        self._bounds = bounds
        self._key_of = key_of
        self._ring: deque[Reading] = deque()
        """Readings that have more to deliver, in the order of their turns."""
        self._thirsty: dict[Reading, None] = {}
        self.pending_bytes = 0
        """Read and not admitted, of all shards."""
        self.expired: list[Reading] = []
        """Readings that were found past their deadline; whoever looks clears it."""

    @property
    def depth(self) -> int:
        """Deliveries that wait for their start."""
        return self._lanes.waiting

    @property
    def has_startable(self) -> bool:
        """Whether ``take`` may find something else to start."""
        return self._lanes.has_startable

    @property
    def keys_aside(self) -> int:
        """Keys that wait for their next attempt."""
        return self._lanes.keys_aside

    def offer(self, reading: Reading, records: Sequence[RawRecord]) -> None:
        """A reader has read these, in stream order."""
        if reading.halted or not records:
            return
        if not reading.has_data:
            self._ring.append(reading)
        reading.pending.extend(records)
        size_bytes = sum([len(each["Data"]) for each in records])
        reading.pending_bytes += size_bytes
        self.pending_bytes += size_bytes
        self._make_room(reading)
        self._admit()

    def end(self, reading: Reading) -> None:
        """The shard has no more records than what was offered."""
        reading.ended = True
        if reading.drained:
            reading.notify()

    def wants_more(self, reading: Reading) -> bool:
        """Whether the reader may ask the service for more."""
        bounds = self._bounds
        return (
            len(reading.pending) < bounds.read_ahead_records
            and self.pending_bytes < bounds.read_ahead_bytes
            and not self.is_full(reading)
        )

    def await_room(self, reading: Reading) -> bool:
        """The same; if it is False, the reading is notified once that changes."""
        if self.wants_more(reading):
            return True
        reading.thirsty = True
        self._thirsty[reading] = None
        return False

    def is_full(self, reading: Reading) -> bool:
        """Whether the shard has reached its bound on what is not settled."""
        return (
            reading.watermark.outstanding >= self._bounds.unsettled_records
            or reading.held_bytes >= self._bounds.unsettled_bytes
        )

    def take(self, now_s: float) -> Delivery | None:
        """The delivery to start now, or None while nothing may start."""
        lanes, half = self._lanes, self._bounds.channel_records // 2
        lanes.wake(now_s)
        if self._ring and lanes.waiting <= half:
            self._admit()
        while True:
            delivery = lanes.take()
            if delivery is None:
                if not self._ring or not self._admit():
                    return None
            elif now_s < delivery.reading.deadline_s:
                return delivery
            else:
                self._expire(delivery)

    def settle(self, delivery: Delivery) -> None:
        """The delivery that was taken is done with: handled, dropped or parked."""
        self._lanes.finish(delivery)
        reading = delivery.reading
        reading.held_bytes -= delivery.size_bytes
        moved = not reading.closed and reading.watermark.settle(delivery.index)
        if reading.halted:
            reading.notify()
        elif moved:
            self._after_move(reading)

    def set_aside(self, delivery: Delivery, due_s: float) -> None:
        """The delivery that was taken is to start again at ``due_s``, and its key waits."""
        if delivery.reading.halted:
            self.release(delivery)
        else:
            self._lanes.set_aside(delivery, due_s)

    def joins_its_key(self, delivery: Delivery) -> bool:
        """Puts a delivery that was taken, but not started, behind its key if that is set aside;
        says whether it was."""
        if not self._lanes.is_aside(delivery):
            return False
        self.set_aside(delivery, due_s=0.0)
        return True

    def behind(self, delivery: Delivery, most: int) -> list[Delivery]:
        """What waits behind a delivery that was taken, of its key and its reading."""
        return self._lanes.behind(delivery, most)

    def release(self, delivery: Delivery) -> None:
        """The delivery that was taken ends without being settled.

        The mark will not pass it, so whatever arrived later will be read again: of a halted
        reading none of it needs to start.
        """
        reading = delivery.reading
        self._lanes.finish(delivery)
        reading.held_bytes -= delivery.size_bytes
        if reading.halted:
            reading.stopped_at = min(reading.stopped_at, delivery.index)
            self._lanes.forget(reading, delivery.index)
        reading.notify()

    def halt(self, reading: Reading) -> None:
        """No more is read, and nothing starts but what arrived before something that has started:
        without that the next reader would deliver what has started a second time."""
        if reading.halted:
            return
        reading.stopped_at = self._worth_finishing(reading)
        self._drop_pending(reading)
        self._lanes.forget(reading, reading.stopped_at)
        reading.notify()
        self._admit()

    def close(self, reading: Reading, *, lost: bool = False) -> None:
        """Nothing of the reading starts any more, and what runs moves no checkpoint."""
        reading.lost = reading.lost or lost
        if reading.closed:
            return
        reading.closed = True
        if not reading.halted:
            self._drop_pending(reading)
        self._lanes.forget(reading)
        reading.notify()
        self._admit()

    # --- inside -----------------------------------------------------------------------------

    def _after_move(self, reading: Reading) -> None:
        if reading.has_data:
            if not reading.waiting:
                self._admit()  # it may have reached its bound before
        elif reading.ended and not reading.watermark.outstanding:
            reading.notify()
        if reading.watched:
            reading.watched = False
            reading.notify()
        if reading.thirsty:
            self._quench(reading)

    def _worth_finishing(self, reading: Reading) -> int:
        """The last arrival that a drain should settle: the last one that has started, unless
        something before it holds the mark back anyway."""
        recalled = [each.index for each in reading.recalled]
        last = reading.watermark.latest_of(self._lanes.unstarted(reading) | set(recalled))
        holding_back = [*recalled[:1]]
        first_aside = self._lanes.first_aside(reading)
        if first_aside is not None:
            holding_back.append(first_aside)
        return min([last, *(index - 1 for index in holding_back)])

    def _drop_pending(self, reading: Reading) -> None:
        reading.halted = True
        if reading.has_data:
            self._ring.remove(reading)
            reading.ended = False  # what is dropped here was part of the shard
        self.pending_bytes -= reading.pending_bytes
        reading.pending_bytes = 0
        reading.pending.clear()
        reading.inner.clear()
        reading.recalled.clear()
        self._thirsty.pop(reading, None)

    def _expire(self, delivery: Delivery) -> None:
        reading = delivery.reading
        self.close(reading, lost=True)
        self.release(delivery)
        self.expired.append(reading)

    def _quench(self, reading: Reading) -> None:
        if self.wants_more(reading):
            reading.thirsty = False
            self._thirsty.pop(reading, None)
            reading.notify()

    def _make_room(self, newcomer: Reading) -> None:
        """Gives a shard that does not find its share free what others hold beyond theirs."""
        places = self._bounds.channel_records
        if not self._lanes.waiting:
            return
        holders = dict.fromkeys(each.reading for each in self._lanes.queued())
        share = max(1, places // len(holders | dict.fromkeys(self._ring)))
        if newcomer.waiting + places - self._lanes.waiting >= share:
            return
        for reading in holders:
            if reading.waiting > share and reading is not newcomer:
                if not reading.has_data:
                    self._ring.append(reading)
                back = self._lanes.recall(reading, reading.waiting - share)
                reading.recalled.extendleft(reversed(back))

    def _admit(self) -> int:
        """Fills the channel, by turns, with what was read; returns how many deliveries entered."""
        ring, places = self._ring, self._bounds.channel_records
        over_budget = self.pending_bytes >= self._bounds.read_ahead_bytes
        passed_over = entered = 0
        while passed_over < len(ring) and not self._is_filled:
            reading = ring[0]
            share = max(1, places // len(ring))
            count = min(places - self._lanes.waiting, share - reading.waiting)
            admitted = self._admit_from(reading, count)
            passed_over = 0 if admitted else passed_over + 1
            entered += admitted
            if reading.has_data:
                ring.rotate(-1)
            else:
                ring.popleft()
            self._after_turn(reading)
        if over_budget and self.pending_bytes < self._bounds.read_ahead_bytes:
            for reading in list(self._thirsty):
                self._quench(reading)
        return entered

    def _after_turn(self, reading: Reading) -> None:
        if reading.thirsty:
            self._quench(reading)
        if reading.ended and reading.drained:
            reading.notify()  # what was left had been handled before

    @property
    def _is_filled(self) -> bool:
        waiting = self._lanes.waiting
        return waiting >= self._bounds.channel_records or (
            waiting > 0 and self._lanes.waiting_bytes >= self._bounds.channel_bytes
        )

    def _admit_from(self, reading: Reading, count: int) -> int:
        """Lets up to ``count`` deliveries of one shard enter; returns how many did."""
        left = count
        while left > 0 and reading.recalled and not self._is_filled:
            self._lanes.push(reading.recalled.popleft())
            left -= 1
        room = self._bounds.unsettled_records - reading.watermark.outstanding
        most_bytes = self._bounds.unsettled_bytes
        while left > 0 and room > 0 and reading.held_bytes < most_bytes and not self._is_filled:
            if reading.inner:
                entered = self._deliver(reading, *reading.inner.popleft())
            elif reading.pending:
                entered = self._enter(reading, reading.pending.popleft())
            else:
                break
            left -= entered
            room -= entered
        return count - left

    def _enter(self, reading: Reading, raw: RawRecord) -> int:
        """The next record that was read: delivers it, or takes an aggregate apart."""
        data: bytes = raw["Data"]
        reading.pending_bytes -= len(data)
        self.pending_bytes -= len(data)
        arrival_ms = round(raw["ApproximateArrivalTimestamp"] * 1000)
        place = Place(raw["SequenceNumber"], 0, arrival_ms, raw["PartitionKey"])
        if data.startswith(aggregate.MAGIC):
            inner = aggregate.unpack(data)
            if inner is not None:
                reading.inner.extend(
                    InnerRecord(
                        place._replace(sub=sub, partition_key=each.partition_key), each.data
                    )
                    for sub, each in enumerate(inner)
                )
                return 0
        return self._deliver(reading, place, data)

    def _deliver(self, reading: Reading, place: Place, data: bytes) -> int:
        if reading.skip_through is not None and _is_behind(place, reading):
            return 0
        record = held_record(reading, place, data)
        size_bytes = len(data) + len(place.partition_key)
        reading.held_bytes += size_bytes
        index = reading.watermark.register(place)
        self._lanes.push(Delivery(record, reading, index, size_bytes, self._key_of(record)))
        return 1


def _is_behind(place: Place, reading: Reading) -> bool:
    """Whether a reader that started *at* its checkpoint has read what is settled already."""
    assert reading.skip_through is not None
    if (int(place.sequence_number), place.sub) <= reading.skip_through:
        return True
    reading.skip_through = None
    return False
