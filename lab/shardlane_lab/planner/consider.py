"""Puts together everything that is known of an option: figures, cost, limits, catching up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shardlane_lab.planner.catch_up import catch_up_minutes
from shardlane_lab.planner.cost import Invocations, cost
from shardlane_lab.planner.limits import blockers, handler_utilisation, read_utilisation
from shardlane_lab.planner.measure import GroupFigures, Measurer
from shardlane_lab.planner.option import Option, options
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import size, size_on_demand
from shardlane_lab.planner.verdict import Considered
from shardlane_lab.prices.price_table import RegionPrices
from shardlane_lab.simulator.measured_range import outside
from shardlane_lab.simulator.parameters import CALIBRATIONS


class Considering:
    """One question with its stream and its prices; the number of consumers may vary, and what has
    been run for one number is not run again for another. Raises ``PlanError`` when made."""

    def __init__(
        self,
        question: Question,
        prices: RegionPrices,
        seeds: int,
        on_run: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_run`` is called after every run of the simulator."""
        self.sizing, self.on_demand = size(question), size_on_demand(question)
        self._question = question
        self._prices = prices
        self._parameters = CALIBRATIONS[question.calibration]
        self._provisioned, self._on_demand = (
            Measurer(question, sizing, self._parameters, seeds, on_run)
            for sizing in (self.sizing, self.on_demand)
        )

    def options(self, consumers: int | None = None) -> list[Option]:
        """For as many consumers as were asked for, or for another number."""
        asked = self._question
        if consumers is not None:
            asked = replace(asked, consumers=consumers)
        return options(asked, self.sizing, self.on_demand)

    def consider(self, option: Option) -> Considered:
        question = replace(self._question, consumers=sum(group.count for group in option.groups))
        provisioned = option.mode == "provisioned"
        sizing = self.sizing if provisioned else self.on_demand
        measurer = self._provisioned if provisioned else self._on_demand
        blocked = tuple(blockers(question, sizing, option))
        figures = () if blocked else tuple(measurer.measure(option))
        calls, read_bytes = read_utilisation(option, sizing)
        readers = [reader for group in option.groups for reader in group.readers()]
        overhead_ms = self._parameters.function_overhead_ms
        return Considered(
            option=option,
            shards=sizing.shards,
            figures=figures,
            cost=cost(question, sizing, option, invocations(figures), self._prices),
            catch_up_minutes=tuple(
                catch_up_minutes(question, sizing, option, group, overhead_ms)
                for group in option.groups
            ),
            calls=calls,
            read_bytes=read_bytes,
            handlers=tuple(handler_utilisation(group, sizing) for group in option.groups),
            blockers=blocked,
            outside=tuple(
                outside(
                    sizing.load(question, 1.0),
                    readers,
                    shards=sizing.shards,
                    region=question.region,
                )
            ),
        )


def invocations(figures: tuple[GroupFigures, ...]) -> Invocations:
    """Of all groups together."""
    per_s = sum(each.invocations_per_s for each in figures)
    busy = sum(each.invocations_per_s * each.busy_ms for each in figures)
    return Invocations(per_s=per_s, busy_ms=busy / per_s if per_s else 0.0)
