"""The checker: what was written, what handlers did, what the lease table says, and whether all of
that keeps the delivery contract. It looks at the world from outside; no consumer sees it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shardlane.consumer.lease import Change, Lease

READS_PER_S = 5
CHECKPOINT_S = 1.0
_ROUNDING_S = 1e-6

Verb = Literal["create", "write", "take", "hand_off", "delete"]


@dataclass(frozen=True, slots=True)
class Write:
    """A write to the lease table, and who sent it."""

    verb: Verb
    shard_id: str
    me: str = ""
    change: Change | None = None

    @property
    def is_seek(self) -> bool:
        checkpoint = None if self.change is None else self.change.checkpoint
        return checkpoint is not None and not (checkpoint.is_number or checkpoint.is_end)


@dataclass(frozen=True, slots=True)
class Put:
    """A record as the stream has it."""

    number: int
    key: str
    shard_id: str
    sequence: int
    sub: int
    arrival_ms: int


class Ledger:
    """Told of every event as it happens, and checks then and there. The first breach is kept in
    ``breach``, with what led to it in ``trace``."""

    def __init__(self, now_s: Callable[[], float], *, keeps_order: bool) -> None:
        self._now_s = now_s
        self._keeps_order = keeps_order
        self._closed = False
        self.breach: str | None = None
        self.on_breach: Callable[[], None] = _nobody
        self.trace: deque[str] = deque(maxlen=60)
        self.puts: dict[int, Put] = {}
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._by_shard: dict[str, list[Put]] = defaultdict(list)
        self._done: set[int] = set()
        self._parked: set[int] = set()
        """In the lot: nothing later of the key may start before somebody has redriven them."""
        self._done_since_seek: dict[str, set[int]] = defaultdict(set)
        """By shard: a seek asks for everything again."""
        self._next_of_key: dict[str, int] = defaultdict(int)
        """How many records of a key, from its first on, are done."""
        self._done_of_shard: dict[str, int] = defaultdict(int)
        self._had_row: set[str] = set()
        self._fences: dict[str, int] = {}
        self.rows: dict[str, Lease] = {}
        self._checkpoints_s: dict[str, float] = {}
        self._reads: dict[tuple[str, str], deque[float]] = defaultdict(
            lambda: deque(maxlen=READS_PER_S + 1)
        )
        self._from_ms: dict[str, int] = {}
        """Shard → what was written to it before this need not be delivered."""
        self.duplicates = 0
        self.parkings = 0

    # --- the stream -------------------------------------------------------------------------

    def put(self, put: Put) -> None:
        self.puts[put.number] = put
        self._by_key[put.key].append(put.number)
        self._by_shard[put.shard_id].append(put)

    def is_wanted(self, put: Put) -> bool:
        """Whether it has to be delivered: it was written after the shard's first start. As long
        as the shard has no lease, it counts."""
        return put.arrival_ms >= self._from_ms.get(put.shard_id, 0)

    # --- handlers ---------------------------------------------------------------------------

    def started(self, machine: str, owner: str, number: int, shard_id: str, fence: int) -> None:
        """A handler call begins: the lease must be its owner's, by this very tenure."""
        self._note(f"{machine} starts {number} ({self.puts[number].key}, {shard_id}) under {fence}")
        row = self.rows.get(shard_id)
        if row is None or not row.held_by(owner) or fence != self._fences[shard_id]:
            self._break(
                f"{machine} started {number} of {shard_id} under the fence {fence}, but the lease "
                f"is {row}, taken under {self._fences.get(shard_id)}"
            )

    def reached(self, machine: str, number: int) -> None:
        """The handler comes to a record: nothing of its key before it may be open."""
        put = self.puts[number]
        if number in self._done:
            self.duplicates += 1
        elif not self.is_wanted(put):
            return  # from before the first start; a seek may still bring it
        elif self._keeps_order and self._first_open(put.key) != number:
            self._break(
                f"{machine} started {number} of key {put.key} before {self._first_open(put.key)} "
                "of the same key was handled"
            )

    def settled(self, machine: str, number: int, how: str = "handled") -> None:
        """Handled or dropped."""
        self._note(f"{machine} {how} {number}")
        self._done.add(number)
        self._parked.discard(number)
        self._done_since_seek[self.puts[number].shard_id].add(number)

    def parked(self, number: int) -> None:
        """It is in the lot: a checkpoint may pass it, but it has yet to be handled."""
        self._note(f"parked {number}")
        self._parked.add(number)
        self.parkings += 1
        self._done_since_seek[self.puts[number].shard_id].add(number)

    def noted(self, line: str) -> None:
        """Anything else that helps to understand a breach."""
        self._note(line)

    def _first_open(self, key: str) -> int | None:
        """The first record of a key that has to be delivered and was not."""
        numbers, at = self._by_key[key], self._next_of_key[key]
        while at < len(numbers) and (
            numbers[at] in self._done or not self.is_wanted(self.puts[numbers[at]])
        ):
            at += 1
        self._next_of_key[key] = at
        return numbers[at] if at < len(numbers) else None

    # --- the lease table --------------------------------------------------------------------

    def table_changed(
        self, what: Write, before: Lease | None, after: Lease | None, sent_s: float
    ) -> None:
        self._note(f"{what.verb} by {what.me or 'somebody'}: {_brief(after)}")
        if after is None:
            self.rows.pop(what.shard_id, None)
            return
        self.rows[what.shard_id] = after
        if what.verb == "create":
            self._created(after)
        if what.verb == "take":
            self._taken(what, before, after)
        if before is not None and after.checkpoint != before.checkpoint:
            self._moved(what, before, after, sent_s)

    def _created(self, row: Lease) -> None:
        if row.shard_id in self._had_row:
            self._break(f"{row.shard_id} got a second lease: {row}")
        self._had_row.add(row.shard_id)
        # A child cannot begin later than its parent did: that would leave out what came between.
        begins = [0 if row.start_ms is None else row.start_ms]
        begins += [self._from_ms[parent] for parent in row.parents if parent in self._from_ms]
        self._from_ms[row.shard_id] = min(begins)

    def _taken(self, what: Write, before: Lease | None, after: Lease) -> None:
        if after.counter <= self._fences.get(what.shard_id, -1):
            self._break(f"the fence of {what.shard_id} did not grow: {before} → {after}")
        self._fences[what.shard_id] = after.counter
        for parent in after.parents:
            row = self.rows.get(parent)
            if row is not None and not row.is_ended:
                self._break(f"{what.shard_id} was taken before its parent {parent} had ended")

    def _moved(self, what: Write, before: Lease, after: Lease, sent_s: float) -> None:
        if what.is_seek:
            self._done_since_seek[what.shard_id].clear()
            self._done_of_shard[what.shard_id] = 0
            return
        if after.checkpoint.order < before.checkpoint.order:
            self._break(f"the checkpoint of {what.shard_id} went back: {before} → {after}")
        unsettled = self._unsettled(what.shard_id, after)
        if unsettled is not None:
            self._break(
                f"the checkpoint of {what.shard_id} is {after.checkpoint}, past {unsettled} which "
                "is not settled"
            )
        assert what.change is not None
        if not what.change.give_up:
            last_s = self._checkpoints_s.get(what.shard_id, float("-inf"))
            if sent_s < last_s + CHECKPOINT_S - _ROUNDING_S:
                self._break(
                    f"two checkpoints of {what.shard_id} within a second: {last_s}, {sent_s}"
                )
            self._checkpoints_s[what.shard_id] = sent_s

    def _unsettled(self, shard_id: str, row: Lease) -> Put | None:
        """A wanted record that the checkpoint has passed and that nobody has settled."""
        puts, done = self._by_shard[shard_id], self._done_since_seek[shard_id]
        at = self._done_of_shard[shard_id]
        while at < len(puts) and (puts[at].number in done or not self.is_wanted(puts[at])):
            at += 1
        self._done_of_shard[shard_id] = at
        if at == len(puts):
            return None
        first, checkpoint = puts[at], row.checkpoint
        passed = checkpoint.is_end or (
            checkpoint.is_number
            and (first.sequence, first.sub) <= (int(checkpoint.value), checkpoint.sub)
        )
        return first if passed else None

    # --- reading and memory -----------------------------------------------------------------

    def read(self, owner: str, shard_id: str) -> None:
        """A GetRecords call goes out. A process that starts right after another one of the same
        machine cannot know when that read, so each has its own count."""
        times = self._reads[owner, shard_id]
        times.append(self._now_s())
        if len(times) > READS_PER_S and times[-1] - times[0] < 1 - _ROUNDING_S:
            self._break(f"{owner} read {shard_id} {len(times)} times within a second: {times}")

    def held(self, machine: str, *, depth: int, most_depth: int, unsettled: int, most: int) -> None:
        """What a machine has in memory."""
        if depth > most_depth:
            self._break(f"{machine} has {depth} deliveries in the channel, of {most_depth}")
        if unsettled > most:
            self._break(f"{machine} has {unsettled} unsettled records of one shard, of {most}")

    # --- the end ----------------------------------------------------------------------------

    def undelivered(self) -> list[Put]:
        return [
            put
            for put in self.puts.values()
            if put.number in self._parked
            or (put.number not in self._done_since_seek[put.shard_id] and self.is_wanted(put))
        ]

    def fail(self, why: str) -> None:
        """A breach that only the whole run shows."""
        self._break(why)

    def close(self) -> None:
        """The world is taken apart from here on: what happens is no matter."""
        self._closed = True

    # --- inside -----------------------------------------------------------------------------

    def _note(self, line: str) -> None:
        self.trace.append(f"{self._now_s():8.3f}  {line}")

    def _break(self, why: str) -> None:
        if self.breach is None and not self._closed:
            self.breach = f"at {self._now_s():.3f} s: {why}"
            self.on_breach()


def _brief(row: Lease | None) -> str:
    if row is None:
        return "gone"
    place = row.checkpoint.value[-14:]
    finishing = "" if row.checkpoint_owner is None else f", {row.checkpoint_owner} finishes"
    return f"{row.shard_id} c={row.counter} {row.owner}{finishing} at {place}.{row.checkpoint.sub}"


def _nobody() -> None:
    """Nobody waits."""
