"""Where the answer would be another one: by wanted p99, consumers, pollers, handler time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from shardlane_lab.planner.consider import Considering
from shardlane_lab.planner.option import Option
from shardlane_lab.planner.question import MAX_CONSUMERS, Question
from shardlane_lab.planner.sizing import BUSY, size
from shardlane_lab.planner.verdict import Considered, choosable, objections

MOST_CONSUMERS = 20
MOST_POLLERS = 10
CLEARLY = 0.9
"""Less of a difference in p99 lies within what the seeds differ by."""


@dataclass(frozen=True, slots=True)
class Flip:
    """``sentence`` names the value of ``argument`` and what would be chosen there."""

    argument: str
    sentence: str


def flips(
    question: Question, considered: Sequence[Considered], considering: Considering
) -> Iterator[Flip]:
    yield from _by_p99(question, considered)
    yield from _by_consumers(question, considering)
    yield from _by_pollers(question, considering)
    yield from _one_more(question, considering)
    yield from _by_handler(question)


def _by_p99(question: Question, considered: Sequence[Considered]) -> Iterator[Flip]:
    """Cheapest first; another one only pays if it is clearly faster than all cheaper ones."""
    any_p99 = replace(question, wanted_p99_ms=None)
    fastest: list[Considered] = []
    for each in choosable(any_p99, considered):
        p99_ms = each.p99_ms
        if p99_ms and (not fastest or p99_ms < CLEARLY * (fastest[-1].p99_ms or 0.0)):
            fastest.append(each)
    for slower, faster in pairwise(fastest):
        yield Flip(
            "wanted p99",
            f"under {(slower.p99_ms or 0) / 1000:,.2f} s: {faster.option.name} "
            f"({faster.cost}) instead of {slower.option.name} ({slower.cost})",
        )
    if fastest:
        yield Flip(
            "wanted p99", f"under {(fastest[-1].p99_ms or 0) / 1000:,.2f} s: nothing here does it"
        )


def _by_consumers(question: Question, considering: Considering) -> Iterator[Flip]:
    most = max(MOST_CONSUMERS, question.consumers)
    chosen = [(count, _choice(question, considering, count)) for count in range(1, most + 1)]
    runs = [
        (name, [count for count, _ in group])
        for name, group in groupby(chosen, key=lambda pair: pair[1])
    ]
    if len(runs) < 2:
        return
    parts = [f"{_range(counts)}: {name}" for name, counts in runs]
    yield Flip("consumers", "; ".join(parts))


def _range(counts: Sequence[int]) -> str:
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _choice(question: Question, considering: Considering, count: int) -> str:
    """What would be chosen for so many consumers, without its counts: 2 + 3 and 2 + 4 are the
    same answer."""
    other = replace(question, consumers=count)
    considered = [
        considering.consider(option)
        for option in considering.options(count)
        if question.machine_usd is not None or option.boto3_consumers == 0
    ]
    fit = choosable(other, considered)
    if not fit:
        return "nothing"
    return " + ".join(part.lstrip("0123456789 ") for part in fit[0].option.name.split(" + "))


def _by_pollers(question: Question, considering: Considering) -> Iterator[Flip]:
    """How many pollers the shard bears; latency and budget play no part."""
    any_of_them = replace(question, wanted_p99_ms=None, budget_usd=None)
    calm = 0
    for count in range(1, MOST_POLLERS + 1):
        found = considering.consider(_polling(considering, count))
        if objections(any_of_them, found):
            break
        calm = count
    at = f"every {question.interval_ms:,.0f} ms"
    yield Flip(
        "shared pollers",
        f"up to {calm} {at} read without throttling errors past their retries"
        if calm
        else f"not even one {at} reads without throttling errors past its retries",
    )


def _one_more(question: Question, considering: Considering) -> Iterator[Flip]:
    """What another consumer does to those that are there."""
    count = question.consumers
    if count == MAX_CONSUMERS:
        return
    for name, of in (("Lambda standard", _standard), ("boto3 polling", _polling)):
        now, then = (considering.consider(of(considering, each)) for each in (count, count + 1))
        if now.figures and then.figures and now.p99_ms and then.p99_ms:
            yield Flip(
                "one more consumer",
                f"{name}: p50 {_p50_s(now):,.2f} → {_p50_s(then):,.2f} s, "
                f"p99 {now.p99_ms / 1000:,.2f} → {then.p99_ms / 1000:,.2f} s for everybody",
            )
    yield Flip("one more consumer", "EFO: nothing, each has a push of its own")


def _p50_s(considered: Considered) -> float:
    return considered.figures[0].handled_ms["p50"].median / 1000.0


def _polling(considering: Considering, count: int) -> Option:
    return _named(considering, "boto3 polling", count)


def _standard(considering: Considering, count: int) -> Option:
    return _named(considering, "Lambda standard", count)


def _named(considering: Considering, name: str, count: int) -> Option:
    return next(each for each in considering.options(count) if each.name == name)


def _by_handler(question: Question) -> Iterator[Flip]:
    """ParallelizationFactor helps from where one handler of a shard would be too busy."""
    limit_ms = BUSY * 1000.0 / size(question).rate_per_s
    if question.handler_ms <= limit_ms:
        sentence = f"over {limit_ms:,.0f} ms a record: ParallelizationFactor 2 and more"
    else:
        sentence = f"up to {limit_ms:,.0f} ms a record: ParallelizationFactor 1 is enough"
    yield Flip("handler time", f"{sentence} (rate × time against {BUSY:.0%} of one handler)")
