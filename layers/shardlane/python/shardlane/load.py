"""The load of an experiment as pure arithmetic: which record is sent when, with which key and
payload. The producer on this machine, the one in virtual time and the function in the region send
the same records."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from shardlane.errors import SettingsError

POISON = b"no load record: no handler can read it"
"""The data of a poison record."""
DISTRIBUTIONS = ("turns", "uniform", "zipf")
"""``turns``: one key after the other; ``zipf``: the n-th key is 1/n as busy as the first."""
MOST_SENDERS = 64


class Planned(NamedTuple):
    """One record to send."""

    at_ms: float
    """From the start of the load."""
    key: str
    seq: int | None
    """0, 1, 2 …; None is a poison record, which has no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What a load consists of. ``load_plan`` makes one from a JSON object."""

    seconds: float
    rate_per_s: float
    steps: tuple[tuple[float, float], ...] = ()
    """``(from second, records per second)``: the rate from then on."""
    bursts: tuple[tuple[float, int], ...] = ()
    """``(at second, records)``: so many more at once."""
    poison: tuple[tuple[float, int], ...] = ()
    """``(at second, number of the key)``: a record that no handler can read."""
    keys: int = 10
    distribution: str = "turns"
    hot_key_share: float = 0.0
    """Of the records, for key 0 alone; the others share the rest."""
    record_bytes: int = 0
    """Of the data; a record is never shorter than its own fields need."""
    handle_ms: float = 0.0
    """What handling a record is to take; the record says it to whoever handles it."""
    senders: int = 1
    """Puts under way at once; one sends a record after the other, as the published producer."""
    seed: int = 0
    """Of the keys."""

    def __post_init__(self) -> None:
        if not 1 <= self.senders <= MOST_SENDERS:
            raise SettingsError(f"senders is {self.senders}; allowed: 1 to {MOST_SENDERS}")
        if self.distribution not in DISTRIBUTIONS:
            allowed = ", ".join(DISTRIBUTIONS)
            raise SettingsError(f"distribution is {self.distribution!r}; allowed: {allowed}")

    def planned(self) -> list[Planned]:
        """Every record in the order of sending."""
        keys = self._keys()
        times_ms = sorted([*self._steady_ms(), *self._burst_ms()])
        records = [Planned(at_ms, next(keys), seq) for seq, at_ms in enumerate(times_ms)]
        poison = [Planned(at_s * 1000, key_name(number), None) for at_s, number in self.poison]
        return sorted([*records, *poison], key=lambda each: each.at_ms)

    def sender_of(self, key: str) -> int:
        """Which of the senders a key belongs to: always the same one, so that its order holds."""
        return zlib.crc32(key.encode()) % self.senders

    def payload(self, record: Planned, sent_ms: float, scheduled_ms: float) -> bytes:
        """The data of a record; times are the sender's, epoch milliseconds."""
        if record.seq is None:
            return POISON
        values: dict[str, Any] = {
            "seq": record.seq,
            "sent_ms": sent_ms,
            "scheduled_ms": scheduled_ms,
        }
        if self.handle_ms:
            values["handle_ms"] = self.handle_ms
        data = json.dumps(values)
        missing = self.record_bytes - len(data)
        if missing > 0:
            data = json.dumps(values | {"fill": "x" * max(0, missing - len(', "fill": ""'))})
        return data.encode()

    def _steady_ms(self) -> Iterator[float]:
        starts = [(0.0, self.rate_per_s), *sorted(self.steps)]
        ends = [at_s for at_s, _ in starts[1:]] + [self.seconds]
        for (from_s, rate_per_s), until_s in zip(starts, ends, strict=True):
            lasts_s = min(until_s, self.seconds) - from_s
            for number in range(max(0, round(rate_per_s * lasts_s))):
                yield from_s * 1000 + number * 1000 / rate_per_s

    def _burst_ms(self) -> Iterator[float]:
        for at_s, records in self.bursts:
            if at_s < self.seconds:
                yield from [at_s * 1000] * records

    def _keys(self) -> Iterator[str]:
        random = Random(f"{self.seed}/keys")
        numbers = self._numbers(random)
        while True:
            hot = self.hot_key_share and random.random() < self.hot_key_share
            yield key_name(0 if hot else next(numbers))

    def _numbers(self, random: Random) -> Iterator[int]:
        first = 1 if self.hot_key_share and self.keys > 1 else 0  # key 0 has its share already
        count = self.keys - first
        if self.distribution == "turns":
            number = 0
            while True:
                yield first + number % count
                number += 1
        if self.distribution == "uniform":
            while True:
                yield first + random.randrange(count)
        weights = list(accumulate(1 / place for place in range(1, count + 1)))
        while True:
            yield first + bisect_right(weights, random.random() * weights[-1], 0, count - 1)


def key_name(number: int) -> str:
    return f"key-{number}"


_FIELDS = frozenset(each.name for each in fields(LoadPlan))


def load_plan(values: Mapping[str, Any]) -> LoadPlan:
    """From what ``dataclasses.asdict`` of a plan gives, also after a way through JSON. Raises
    ``SettingsError`` naming what is not allowed."""
    unknown = sorted(set(values) - _FIELDS)
    if unknown:
        raise SettingsError(f"{unknown[0]} is no part of a load; allowed: {sorted(_FIELDS)}")
    pairs = {
        name: tuple((first, second) for first, second in values[name])
        for name in ("steps", "bursts", "poison")
        if name in values
    }
    try:
        return LoadPlan(**{**values, **pairs})
    except TypeError as error:
        raise SettingsError(f"the load is not complete: {error}") from error
