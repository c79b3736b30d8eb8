"""A small world around one shard: its mapping, invocations that die and turn into zombies,
redrives, and a clock that jumps. What happened is checked against the delivery contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import Backoff, FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane.errors import RedriveRefused, StoreUnavailable
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import Answer, Redriver, Sent
from shardlane.parking.redrive_marker import reason_in
from tests.flows.lambda_batch.turns import Actor, Killed, Turns
from tests.unit.shardlane.entries import FIRST, Context, entry
from tests.unit.shardlane.parking.hooked_store import hooked

CONSUMER = "billing"
TIMEOUT_MS = 1_000
HOLD_MS = 61_000
"""A redrive holds a key for its consumer's time-out and a minute."""


@dataclass(frozen=True)
class Weather:
    """Chances at every turn; all zero is calm."""

    death: float = 0.0
    """An invocation or a redrive dies where it stands."""
    abandonment: float = 0.0
    """The mapping gives an invocation up, which lives on as a zombie."""
    throttle: float = 0.0
    """A store call fails, before or after it happened."""
    jump: float = 0.0
    """The clock moves past every hold."""
    redriver_death: float = 0.0
    """A redrive dies where it stands."""
    rest: float = 0.0
    """The clock moves past every hold, while nobody redrives."""
    redrives: int = 2
    """How many redrivers there are; a number, not a chance."""


CALM = Weather()
STORM = Weather(death=0.01, abandonment=0.01, throttle=0.03, jump=0.02)
CROWD = Weather(throttle=0.01, redrives=5)
"""Many redrivers, but no hold that runs out and no zombie: no two handlers of a key overlap."""
FIRE = Weather(throttle=0.01, redriver_death=0.02, rest=0.02, redrives=10)
"""Redrives die one after the other, while records of their key keep arriving; nothing else is
wrong, so that what is handled twice is their doing."""


@dataclass
class World:
    """One history. ``run`` plays it in a storm, then in a calm until all is done."""

    random: Random
    store: Any
    weather: Weather
    records: int = 24
    keys: int = 2
    batch_size: int = 3
    now_ms: float = 1_000_000.0
    checkpoint: int = 0
    events: list[tuple[str, int]] = field(default_factory=list)
    """("start", "effect" or "end", position) in the order in which they happened."""
    cut_short: Counter[int] = field(default_factory=Counter)
    """By position: redrives that died between the effect and the deletion of the record."""

    def __post_init__(self) -> None:
        self.turns = Turns(self.random)
        self.key_of = [f"k{self.random.randrange(self.keys)}" for _ in range(self.records)]
        poison = self.random.sample(range(self.records), k=self.records // 4)
        self.failures = Counter({position: self.random.choice((1, 1, 3)) for position in poison})
        self._weather = self.weather
        self._redriving: dict[str, int | None] = {}
        """Who is in the middle of a redrive, and the last record that it had an effect of."""
        self.seen_by_actors = hooked(self.store, self._around, self._around)
        lot = ParkingLot(consumer=CONSUMER, store=self.seen_by_actors)
        self._policy = FailurePolicy.park(lot, attempts=1, backoff=Backoff(0, 1, 0))

    # The clock that everybody in this world has.

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def wall_ms(self) -> float:
        return self.now_ms

    def sleep_s(self, seconds: float) -> None:
        self.now_ms += seconds * 1000
        self.turns.pause()

    def run(self) -> None:
        self.turns.spawn("mapping", self._map)
        for number in range(self.weather.redrives):
            self.turns.spawn(f"redrive-{number}", self._redrive_in_a_storm)
        turns = 0
        while self.turns.step():
            turns += 1
            self._blow()
            if turns == 1_500:
                self._weather = CALM
            assert turns < 20_000, "the history does not end"
        self._weather = CALM
        for gate in self.store.gates(CONSUMER):
            self.now_ms += HOLD_MS + 1
            self._drain(gate.key_hash)

    def _blow(self) -> None:
        weather, random = self._weather, self.random
        self.now_ms += random.uniform(0, 20)
        if random.random() < weather.jump:
            self.now_ms += HOLD_MS * 1.2
        if random.random() < weather.rest and not self._redriving:
            self.now_ms += HOLD_MS * 1.2
        if random.random() < weather.death and self.turns.actors:
            actor = random.choice(self.turns.actors)
            if actor.name != "mapping":
                actor.kill()
        for actor in self.turns.actors:
            if random.random() < weather.redriver_death * self._danger(actor.name):
                actor.kill()

    def _danger(self, name: str) -> int:
        """Redrivers die in a redrive, and most where it matters most."""
        if name not in self._redriving:
            return 0
        position = self._redriving[name]
        return 40 if position is not None and self._is_parked(position) else 1

    def _around(self, name: str) -> None:
        self.turns.pause()
        if self.random.random() < self._weather.throttle:
            raise StoreUnavailable(f"{name}: throttled")

    # The mapping

    def _map(self) -> None:
        while self.checkpoint < self.records:
            upto = min(self.checkpoint + self.batch_size, self.records)
            answer: list[Any] = []
            invocation = self.turns.spawn("invocation", partial(self._invoke, upto, answer))
            if not self._wait_for(invocation) or not answer:
                continue  # timed out or died: the same batch again
            failures = answer[0]["batchItemFailures"]
            if failures:
                self.checkpoint = (int(failures[0]["itemIdentifier"]) - FIRST) // 7
            else:
                self.checkpoint = upto

    def _wait_for(self, invocation: Actor) -> bool:
        """Whether the invocation ended before the mapping lost its patience."""
        while invocation.alive:
            if self.random.random() < self._weather.abandonment:
                return False
            self.turns.pause()
        return True

    def _invoke(self, upto: int, answer: list[Any]) -> None:
        event = {"Records": [self._entry(each) for each in range(self.checkpoint, upto)]}
        answer.append(self._processed(event, None))

    # The consumer function

    def _entry(self, position: int) -> dict[str, Any]:
        return entry(position, self.key_of[position])

    def _processed(self, event: dict[str, Any], context: Any) -> Any:
        processor = KeyedBatchProcessor(
            on_failure=self._policy, clock=self, draw=self.random.random
        )
        processor.metrics = None  # they go to standard output
        return process_partial_response(
            event=event, record_handler=self._handle, processor=processor, context=context
        )

    def _handle(self, record: Record) -> None:
        position = (int(record.sequence_number) - FIRST) // 7
        self.events.append(("start", position))
        try:
            for _ in range(self.random.choice((0, 0, 1, 20))):
                self.turns.pause()
            if self.failures[position] > 0:
                self.failures[position] -= 1
                raise RuntimeError("boom")
            self.events.append(("effect", position))
            if self._actor in self._redriving:
                self._redriving[self._actor] = position
            self.turns.pause()
        finally:
            self.events.append(("end", position))

    # Redrives

    def _redrive_in_a_storm(self) -> None:
        while self._weather is not CALM or self.checkpoint < self.records:
            self.turns.pause()
            gates = self.store.gates(CONSUMER)
            if gates:
                with self._noting_its_death():
                    self._redriver().redrive(self.random.choice(gates).key_hash)

    @property
    def _actor(self) -> str:
        actor: Actor = self.turns.here.actor
        return actor.name

    @contextmanager
    def _noting_its_death(self) -> Iterator[None]:
        """Around one redrive: what had its effect and is still in the lot when it ends in the
        middle will be handled once more."""
        self._redriving[self._actor] = None
        try:
            yield
        except (Killed, StoreUnavailable) as end:
            position = self._redriving[self._actor]
            if position is not None and self._is_parked(position):
                self.cut_short[position] += 1
            if isinstance(end, Killed):
                raise
        finally:
            del self._redriving[self._actor]

    def _is_parked(self, position: int) -> bool:
        lot = self.store.parked(CONSUMER, key_hash(self.key_of[position]))
        return any((int(each.sequence_number) - FIRST) // 7 == position for each in lot)

    def _drain(self, hash_: str) -> None:
        def drain() -> None:
            while self.store.gate(CONSUMER, hash_) is not None:
                self._redriver().redrive(hash_)

        self.turns.spawn("drain", drain)
        turns = 0
        while self.turns.step():
            turns += 1
            assert turns < 20_000, "a key is never redriven to its end"

    def _redriver(self) -> Redriver:
        name = f"{self.random.random()}"
        return Redriver(
            self.seen_by_actors,
            CONSUMER,
            self._send,
            timeout_ms=TIMEOUT_MS,
            clock=self,
            draw=self.random.random,
            run_id=lambda: name,
        )

    def _send(self, marked: dict[str, Any]) -> Sent:
        try:
            response = self._processed({"Records": [marked]}, Context(TIMEOUT_MS))
        except (RedriveRefused, StoreUnavailable) as error:
            return Sent(Answer.NOT_RUN, str(error))
        _, reason = reason_in(response)
        if response["batchItemFailures"]:
            return Sent(Answer.FAILED, reason or "")
        return Sent(Answer.HANDLED)

    # The contract

    def broken_promises(self) -> Iterator[str]:
        """What the history broke, if anything."""
        yield from self._out_of_order()
        handled = Counter(position for kind, position in self.events if kind == "effect")
        lost = sorted(set(range(self.records)) - set(handled))
        if lost:
            yield f"{lost} were never handled"
        if self.store.gates(CONSUMER):
            yield "a key stayed quarantined"
        for key in set(self.key_of):
            if self.store.parked(CONSUMER, key_hash(key)):
                yield f"records stayed in the lot of {key}"
        if not (self.weather.jump or self.weather.abandonment):
            yield from self._overlapping()
        twice = sorted(position for position, count in handled.items() if count > 1)
        if self.weather is CALM and twice:
            yield f"{twice} were handled twice although nothing went wrong"
        if self.weather is FIRE:
            yield from self._not_exactly_as_often(handled)

    def _not_exactly_as_often(self, handled: Counter[int]) -> Iterator[str]:
        """Only a redrive that died behind a record's effect makes it run again, and each does."""
        for position in range(self.records):
            if handled[position] != 1 + self.cut_short[position]:
                yield (
                    f"{position} had {handled[position]} effects; {self.cut_short[position]} "
                    "redrives died behind one"
                )

    def _out_of_order(self) -> Iterator[str]:
        handled: set[int] = set()
        for kind, position in self.events:
            if kind == "effect":
                handled.add(position)
            elif kind == "start":
                key = self.key_of[position]
                before = {each for each in range(position) if self.key_of[each] == key}
                if not before <= handled:
                    yield f"{position} started before {sorted(before - handled)} were handled"

    def _overlapping(self) -> Iterator[str]:
        running: Counter[str] = Counter()
        for kind, position in self.events:
            running[self.key_of[position]] += {"start": 1, "effect": 0, "end": -1}[kind]
            if running[self.key_of[position]] > 1:
                yield f"{position} ran while another record of its key did"


@contextmanager
def played(world: World) -> Iterator[list[str]]:
    """Plays a history and gives what it broke; no thread is left behind."""
    try:
        world.run()
        yield list(world.broken_promises())
    except AssertionError as endless:
        yield [str(endless)]
    finally:
        world.turns.end()
