"""The planner, wired: size the stream, list the options, measure and price them, choose, and look
for where the answer flips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardlane_lab.planner.consider import Considering
from shardlane_lab.planner.flip import Flip, flips
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import Sizing
from shardlane_lab.planner.verdict import Considered, choosable
from shardlane_lab.prices.price_table import RegionPrices

FLIP_SEEDS = 2
"""Where the answer flips is looked for with fewer seeds than the answer itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    question: Question
    sizing: Sizing
    prices: RegionPrices
    considered: tuple[Considered, ...]
    choice: Considered | None
    """None if nothing does what was asked."""
    runner_up: Considered | None
    """The next in another capacity mode than the choice."""
    flips: tuple[Flip, ...]
    """Where another option would be chosen."""


def plan(
    question: Question, prices: RegionPrices, *, on_run: Callable[[], None] = lambda: None
) -> Plan:
    """``on_run`` is called after every run of the simulator. Raises ``PlanError``."""
    considering = Considering(question, prices, question.seeds, on_run)
    considered = [considering.consider(option) for option in considering.options()]
    fit = choosable(question, considered)
    choice = fit[0] if fit else None
    others = [
        each
        for each in fit
        if choice and each.option.mode != choice.option.mode and not each.cost.unlisted
    ]
    quick = Considering(question, prices, min(FLIP_SEEDS, question.seeds), on_run)
    return Plan(
        question=question,
        sizing=considering.sizing,
        prices=prices,
        considered=tuple(considered),
        choice=choice,
        runner_up=others[0] if others else None,
        flips=tuple(flips(question, considered, quick)),
    )
