"""Whether an option does what was asked, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardlane_lab.planner.cost import Cost
from shardlane_lab.planner.measure import GroupFigures
from shardlane_lab.planner.option import Option
from shardlane_lab.planner.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """An option with everything that is known of it."""

    option: Option
    shards: int
    figures: tuple[GroupFigures, ...]
    """By group, in the option's order; empty where a limit rules the option out."""
    cost: Cost
    catch_up_minutes: tuple[float | None, ...]
    """By group; None: never."""
    calls: float
    """Share of the busiest shard's 5 reads/s that is asked for."""
    read_bytes: float
    """Share of its 2 MiB/s that is asked for."""
    handlers: tuple[float, ...]
    """How busy each group's lanes are."""
    blockers: tuple[str, ...]
    """Why it cannot work."""
    outside: tuple[str, ...]
    """In what it lies outside the measured range."""

    @property
    def p99_ms(self) -> float | None:
        """Of the slowest group, in its worst seed; None without figures."""
        bands = [each.handled_ms["p99"].high for each in self.figures if each.handled_ms]
        return max(bands, default=None)

    def busy(self, number: int) -> float:
        """Of a group: whatever it uses most of, the shard's reads, their bytes or its handlers."""
        if self.option.groups[number].fans_out:
            return self.handlers[number]
        return max(self.calls, self.read_bytes, self.handlers[number])


def objections(question: Question, considered: Considered) -> list[str]:
    """Why it would not be chosen, the gravest first; none if it could be."""
    return [*considered.blockers, *_throttled(considered), *_asked(question, considered)]


def _throttled(considered: Considered) -> Iterator[str]:
    """A loop that sees exceptions again and again is no way to read, however fast it is."""
    for group, figures in zip(considered.option.groups, considered.figures, strict=False):
        if figures.surfaced_per_hour >= 1:
            yield (
                f"{figures.surfaced_per_hour:,.0f} throttling errors an hour get past the "
                f"retries of each of {group.count} pollers"
            )
        if figures.missing:
            yield "it falls behind and never catches up"


def _asked(question: Question, considered: Considered) -> Iterator[str]:
    wanted, p99_ms = question.wanted_p99_ms, considered.p99_ms
    if wanted is not None and p99_ms is not None and p99_ms > wanted:
        yield f"p99 up to {p99_ms / 1000:,.2f} s, wanted {wanted / 1000:,.2f} s"
    budget = question.budget_usd
    if budget is not None and considered.cost.known_usd > budget:
        yield f"${considered.cost.known_usd:,.2f} a month, budget ${budget:,.2f}"


def choosable(question: Question, all_of_them: Sequence[Considered]) -> list[Considered]:
    """Those without an objection that can be priced, the cheapest first."""
    fit = [
        each
        for each in all_of_them
        if not objections(question, each) and not missing_machines(question, each)
    ]
    return sorted(fit, key=_dearness)


def _dearness(considered: Considered) -> tuple[bool, bool, int, float, float]:
    """What has a complete price comes first. Of the rest sums cannot be compared, but a shared
    reader costs nothing and an EFO consumer does, whatever it is."""
    cost, option = considered.cost, considered.option
    incomplete = bool(cost.unlisted)
    return (
        incomplete,
        incomplete and option.mode != "provisioned",
        option.fan_out_consumers if incomplete else 0,
        cost.known_usd,
        considered.p99_ms or 0.0,
    )


def missing_machines(question: Question, considered: Considered) -> bool:
    """Whether it needs machines that nobody has put a price on."""
    return considered.option.boto3_consumers > 0 and question.machine_usd is None
