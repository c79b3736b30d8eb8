"""What reading costs by the number of consumers, as a Markdown table to paste. No simulation: the
Lambda part takes one invocation a second and shard (standard) or a record (EFO)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shardlane_lab.planner.cost import Invocations, cost
from shardlane_lab.planner.limits import blockers
from shardlane_lab.planner.option import Option, options
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import Sizing, size, size_on_demand
from shardlane_lab.prices.price_table import RegionPrices
from shardlane_lab.simulator.parameters import H0

MOST = 20
COLUMNS = {
    "boto3 polling": "boto3, shared",
    "Lambda standard": "Lambda, shared",
    "boto3 EFO": "boto3, EFO",
    "Lambda EFO": "Lambda, EFO",
    "On-demand, Lambda EFO": "Lambda, EFO, on-demand",
}
"""Option and heading."""


def render(question: Question, prices: RegionPrices) -> str:
    """Raises ``PlanError``."""
    return "\n".join(_lines(question, prices)) + "\n"


def _lines(question: Question, prices: RegionPrices) -> Iterator[str]:
    sizing = size(question)
    shards = "1 shard" if sizing.shards == 1 else f"{sizing.shards} shards"
    yield (
        f"USD a month in {prices.region} (list prices of {prices.as_of or 'an unknown date'}) for "
        f"{question.rate_per_s:,g} records/s of {question.record_bytes:,} bytes on {shards}, "
        f"functions of {question.memory_mb} MB; boto3 consumers without their machines."
    )
    yield ""
    yield "| consumers | " + " | ".join(COLUMNS.values()) + " |"
    yield "| ---: |" + " ---: |" * len(COLUMNS)
    for consumers in range(1, MOST + 1):
        asked = replace(question, consumers=consumers)
        offered = options(asked, sizing, size_on_demand(asked))
        found = {each.name: each for each in offered}
        cells = [_cell(asked, sizing, found[name], prices) for name in COLUMNS]
        yield f"| {consumers} | " + " | ".join(cells) + " |"
    yield ""
    yield "–: impossible, see `shardlane-lab plan`. ?: without items whose price is not known."


def _cell(question: Question, sizing: Sizing, option: Option, prices: RegionPrices) -> str:
    if blockers(question, sizing, option):
        return "–"
    priced = cost(question, sizing, option, _invocations(question, sizing, option), prices)
    return f"{priced.known_usd:,.2f}{'?' if priced.unlisted else ''}"


def _invocations(question: Question, sizing: Sizing, option: Option) -> Invocations:
    standard = min(question.rate_per_s, float(sizing.shards))
    per_s = sum(
        group.count * (question.rate_per_s if group.fans_out else standard)
        for group in option.groups
        if group.is_mapping
    )
    records = question.rate_per_s * option.groups[0].count
    handled_ms = records / per_s * question.handler_ms if per_s else 0.0
    return Invocations(per_s=per_s, busy_ms=H0.function_overhead_ms + handled_ms)
