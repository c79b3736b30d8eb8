"""One shard whose lease this process holds: its reader, and the one writer of its lease."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum

from shardlane.consumer.bell import Bell
from shardlane.consumer.checkpoint import ENDED, Checkpoint
from shardlane.consumer.crew import TIMER_SLACK_S
from shardlane.consumer.feed import Feed
from shardlane.consumer.gauge import ShardGauge
from shardlane.consumer.lease import RENEWAL, Change, Lease
from shardlane.consumer.lease_store import Answer, Unknown
from shardlane.consumer.opening import opening_of, skip_through
from shardlane.consumer.reader import ShardEnd
from shardlane.consumer.reading import Reading
from shardlane.consumer.shard import Shard
from shardlane.consumer.stats import ShardStats
from shardlane.consumer.surroundings import Surroundings
from shardlane.consumer.tenure import Standing, Tenure

_log = logging.getLogger(__name__)

_REPEAT_S = 0.2
"""An unknown write is repeated after a random part of this."""
_LOOK_AGAIN_S = 1.0
"""Before a shard that the service does not know, but lists, is read again."""


class Outcome(Enum):
    """How a tenure ended."""

    LOST = "lost"
    RELEASED = "released"
    ENDED = "ended"
    """The shard has ended and everything in it is settled."""


class _Seek:
    """A move to another position that has not been written yet."""

    def __init__(self, checkpoint: Checkpoint, start_ms: int | None) -> None:
        self.change = Change(checkpoint=checkpoint, start_ms=start_ms)
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


class HeldShard:
    """From a TAKE to the loss, the release or the end.

    Renewal and checkpoint are the same write, for both move the counter; so there is one task
    that writes, and it waits for nothing but its own writes: a full channel or a slow handler
    never keeps it from renewing.
    """

    def __init__(self, tenure: Tenure, around: Surroundings) -> None:
        self._tenure = tenure
        self._around = around
        self._bell = Bell()
        self._loop = asyncio.get_running_loop()
        self._reading = self._new_reading(generation=0)
        self._reader: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        """What the reader has failed with for good."""
        self._children: frozenset[str] | None = None
        """The shard has ended, all of it is settled, and its children have leases."""
        self._seek: _Seek | None = None
        self._is_over = False
        """Nobody writes any more: what waits for a write would wait for ever."""
        self._drain_until_s: float | None = None
        self._not_before_s = float("-inf")
        """When an unknown write is repeated."""
        self._checkpoint_s = tenure.ok_s  # the owner before may have written one just then
        self._confirmations: list[tuple[float, asyncio.Future[None]]] = []
        self.gauge = ShardGauge(answered_s=self._loop.time())
        self._written_s = self._loop.time()
        """When the checkpoint was written, or found at the TAKE."""

    @property
    def shard_id(self) -> str:
        return self._tenure.row.shard_id

    @property
    def reading(self) -> Reading:
        return self._reading

    @property
    def row(self) -> Lease:
        """The lease after the last write."""
        return self._tenure.row

    async def run(self) -> Outcome:
        """Reads and keeps the lease until it is lost, released or ended. Raises what the reader
        raises, after giving the lease up."""
        self._start_reader()
        outcome = Outcome.LOST
        try:
            outcome = await self._keep()
        finally:
            self._shut(lost=outcome is Outcome.LOST)
        if self._failure is not None:
            raise self._failure
        return outcome

    def drain(self) -> None:
        """Stops reading, finishes what has started, and gives the lease up."""
        if self._drain_until_s is None:
            self._drain_until_s = self._now_s() + self._around.terms.drain_s
            self._stop_reader()
            self._around.desk.halt(self._reading)
            self._bell.ring()

    async def seek(self, checkpoint: Checkpoint, start_ms: int | None) -> bool:
        """Moves to another position; returns once that is written, False if the lease is ending
        and nothing was moved."""
        if self._is_over or self._drain_until_s is not None or self._children is not None:
            return False
        if self._seek is not None:
            self._seek.done.set_result(False)
        self._seek = _Seek(checkpoint, start_ms)
        self._bell.ring()
        return await self._seek.done

    def stats(self, now_s: float, wall_ms: float, patience_s: float) -> ShardStats:
        """``patience_s``: an answer older than this counts as lag, for no read succeeds then."""
        reading, tenure = self._reading, self._tenure
        oldest = self._around.desk.oldest(reading)
        age_ms = 0.0 if oldest is None else wall_ms - oldest.arrival_ms
        return ShardStats(
            shard_id=self.shard_id,
            lag_ms=max(0.0, age_ms, self.gauge.read_lag_ms(now_s, patience_s)),
            behind_ms=self.gauge.behind_ms,
            oldest_sequence_number=None if oldest is None else oldest.sequence_number,
            oldest_key=None if oldest is None else oldest.partition_key,
            unsettled=reading.watermark.outstanding,
            running=reading.running,
            waiting=reading.waiting,
            checkpoint=tenure.row.checkpoint.value,
            checkpoint_age_ms=self._checkpoint_age_ms(now_s),
            renewed_ms=(now_s - tenure.ok_s) * 1000,
        )

    def _checkpoint_age_ms(self, now_s: float) -> float:
        is_behind = self._around.desk.is_ahead(self._reading, self._tenure.row.checkpoint)
        return (now_s - self._written_s) * 1000 if is_behind else 0.0

    # --- reading ----------------------------------------------------------------------------

    def _new_reading(self, generation: int) -> Reading:
        reading = Reading(
            stream=self._around.service.stream_name,
            shard_id=self.shard_id,
            fence=self._tenure.fence,
            generation=generation,
            skip_through=skip_through(self._tenure.row),
        )
        reading.deadline_s = self._tenure.deadline_s
        return reading

    def _start_reader(self) -> None:
        around, reading = self._around, self._reading
        feed = Feed(
            reading,
            opening_of(self._tenure.row),
            desk=around.desk,
            counters=around.counters,
            gauge=self.gauge,
            confirm=self._confirmed,
        )

        def tell() -> None:
            feed.bell.ring()
            self._bell.ring()

        reading.notify = around.call_on_loop(tell)
        self._reader = asyncio.create_task(self._read(feed))
        self._reader.add_done_callback(lambda _: self._bell.ring())

    async def _read(self, feed: Feed) -> None:
        """Reads to the end of the shard, waits until all of it is settled, and makes sure that
        its children have leases: only then may SHARD_END be written."""
        family, desk = self._around.family, self._around.desk
        children: tuple[Shard, ...] = ()
        await self._around.learn_gates()
        while True:
            end = await self._around.make_reader(feed).read()
            if isinstance(end, ShardEnd):
                children = end.children
                break
            if await family.is_gone(self.shard_id):
                _log.warning("%s is gone: %s", self.shard_id, end.why)
                break
            await asyncio.sleep(_LOOK_AGAIN_S)
        desk.end(feed.reading)
        while not desk.has_ended(feed.reading):
            await feed.bell.wait()
        self._children = await family.with_leases(self._tenure.row, children)

    async def _confirmed(self, since_s: float) -> None:
        if self._tenure.ok_s >= since_s:
            return
        written: asyncio.Future[None] = self._loop.create_future()
        self._confirmations.append((since_s, written))
        self._bell.ring()
        await written

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()

    def _shut(self, *, lost: bool) -> None:
        self._is_over = True
        self._stop_reader()
        self._around.desk.close(self._reading, lost=lost)
        if lost:
            self._around.abandon(self._reading)
        if self._seek is not None and not self._seek.done.done():
            self._seek.done.set_result(False)

    # --- the lease --------------------------------------------------------------------------

    async def _keep(self) -> Outcome:
        while True:
            self._notice_failure()
            now_s = self._now_s()
            if self._reading.lost or now_s >= self._tenure.deadline_s:
                return self._lost("its deadline has passed")
            change = self._next_change(now_s)
            if change is None:
                await self._bell.wait(self._wake_s())
                continue
            outcome = await self._write(change)
            if outcome is not None:
                return outcome

    def _notice_failure(self) -> None:
        """A reader that has failed for good: what has started is finished, and the lease is given
        up, before ``run`` raises why."""
        reader = self._reader
        if self._failure is None and reader is not None and reader.done():
            self._failure = None if reader.cancelled() else reader.exception()
            if self._failure is not None:
                self.drain()

    def _next_change(self, now_s: float) -> Change | None:
        """What to write now, if anything."""
        if now_s < self._not_before_s:
            return None
        if self._seek is not None:
            return self._seek.change
        if self._children is not None:
            return self._last_change(ENDED, self._children)
        if self._drain_until_s is not None and (
            self._around.desk.is_idle(self._reading) or now_s >= self._drain_until_s
        ):
            return self._last_change(self._moved_to(), frozenset())
        return self._renewal(now_s)

    def _last_change(self, checkpoint: Checkpoint | None, children: frozenset[str]) -> Change:
        handing_over = self._tenure.row.checkpoint_owner is not None
        return Change(
            checkpoint=checkpoint, children=children, give_up=True, handing_over=handing_over
        )

    def _renewal(self, now_s: float) -> Change | None:
        checkpoint = self._moved_to()
        asked = any(since_s > self._tenure.ok_s for since_s, _ in self._confirmations)
        if not asked and now_s < self._tenure.due_s(moved=checkpoint is not None):
            return None
        if checkpoint is None or now_s < self._checkpoint_s + self._around.terms.checkpoint_s:
            return RENEWAL
        return Change(checkpoint=checkpoint)

    def _moved_to(self) -> Checkpoint | None:
        """The mark, if the lease does not say it yet; else the bell rings when it moves."""
        place = self._around.desk.moved_past(self._reading, self._tenure.row.checkpoint)
        return None if place is None else Checkpoint(place.sequence_number, place.sub)

    def _wake_s(self) -> float:
        tenure = self._tenure
        times = [tenure.deadline_s, tenure.due_s(moved=self._moved_to() is not None)]
        if self._drain_until_s is not None:
            times.append(self._drain_until_s)
        return max(min(times), self._not_before_s) + TIMER_SLACK_S

    async def _write(self, change: Change) -> Outcome | None:
        """One WRITE and what follows from its answer; returns how the tenure ended, if it did."""
        tenure = self._tenure
        sent_s = self._now_s()
        answer = await self._answer(change, sent_s)
        standing = tenure.judge(answer, sent_s)
        self._reading.deadline_s = tenure.deadline_s
        self._resolve_confirmations()
        if standing is Standing.UNKNOWN:
            self._not_before_s = self._now_s() + _REPEAT_S * self._around.service.random.random()
        elif standing is Standing.WRITTEN:
            return self._written(change, sent_s)
        elif standing is Standing.LOST:
            return self._gone(change, answer)
        self._answer_hand_over()
        return None

    async def _answer(self, change: Change, sent_s: float) -> Answer:
        terms, tenure = self._around.terms, self._tenure
        try:
            async with asyncio.timeout_at(min(sent_s + terms.answer_s, tenure.deadline_s)):
                return await self._around.table.write(
                    self.shard_id, tenure.row.counter, tenure.me, change
                )
        except TimeoutError:
            return Unknown(f"no answer within {terms.answer_s:g} s")

    def _written(self, change: Change, sent_s: float) -> Outcome | None:
        if change.checkpoint is not None:
            self._checkpoint_s = self._written_s = sent_s
            self._around.counters.checkpoints += 1
        if change.give_up:
            self._say_what_still_runs()
            return Outcome.ENDED if self._tenure.row.is_ended else Outcome.RELEASED
        if self._seek is not None and change is self._seek.change:
            self._reopen(self._seek)
        self._answer_hand_over()
        return None

    def _say_what_still_runs(self) -> None:
        if self._reading.running:
            _log.warning(
                "%s: the lease is given up while %d records are still being handled: its next "
                "owner handles them again",
                self.shard_id,
                self._reading.running,
            )

    def _reopen(self, seek: _Seek) -> None:
        """After the new position is written: what the old generation still settles is not."""
        self._stop_reader()
        self._around.desk.close(self._reading)
        self._children = None  # the end that was reached is to be reached again
        self._reading = self._new_reading(self._reading.generation + 1)
        if self._drain_until_s is None:
            self._start_reader()
        else:  # the lease is given up at the new position; nothing is read from there any more
            self._around.desk.halt(self._reading)
        self._seek = None
        seek.done.set_result(True)

    def _answer_hand_over(self) -> None:
        if self._tenure.row.checkpoint_owner == self._tenure.me and self._drain_until_s is None:
            _log.info("%s: asked for by %s", self.shard_id, self._tenure.row.owner)
            self._around.counters.leases_handed_over += 1
            self.drain()

    def _gone(self, change: Change, answer: Answer) -> Outcome:
        """A refusal that says the lease is not mine: after a last write with an unknown outcome,
        that write has landed."""
        row = None if isinstance(answer, Unknown) else answer.row
        if change.give_up and row is not None and row.checkpoint == change.checkpoint:
            return Outcome.ENDED if row.is_ended else Outcome.RELEASED
        return self._lost(f"the lease is {'gone' if row is None else f'held by {row.holder}'}")

    def _lost(self, why: str) -> Outcome:
        _log.warning("%s: lost the lease: %s", self.shard_id, why)
        self._around.counters.leases_lost += 1
        return Outcome.LOST

    def _resolve_confirmations(self) -> None:
        waiting = []
        for since_s, written in self._confirmations:
            if written.done():
                continue
            if self._tenure.ok_s >= since_s:
                written.set_result(None)
            else:
                waiting.append((since_s, written))
        self._confirmations = waiting

    def _now_s(self) -> float:
        return self._loop.time()
