"""What a run on AWS costs beyond what the deployed stacks cost anyway. Pure arithmetic."""

from __future__ import annotations

import math

from shardlane_lab.experiment import MAPPING_KINDS, Experiment
from shardlane_lab.planner.cost import GB, PUT_UNIT_BYTES, Cost, CostItem
from shardlane_lab.prices.price_table import RegionPrices

PLAIN_BYTES = 100
POLLS_PER_S = 1.0
"""Of a standard mapping on a shard: at most one invocation each."""
MEMORY_GB = 0.125
OVERHEAD_MS = 5.0
HOUR_S = 3600.0


def run_cost(experiment: Experiment, prices: RegionPrices) -> Cost:
    """Upper estimates, rounded up where the service does. Registered consumers are billed by the
    hour that they began; logs and metrics come on top and are cents."""
    plan = experiment.plan()
    records = len(plan.planned())
    size_bytes = max(PLAIN_BYTES, plan.record_bytes)
    subscribers = [
        each for each in experiment.consumers if each.kind in ("boto3-efo", "shardlane-efo")
    ]
    extra = max(0, sum(each.count for each in subscribers) - 1)
    pushed = sum(each.count for each in experiment.consumers if each.kind.endswith("-efo"))
    functions = [each for each in experiment.consumers if each.kind in MAPPING_KINDS]
    invocations = sum(_invocations(each.kind, experiment, records) for each in functions)
    busy_s = invocations * OVERHEAD_MS / 1000 + len(functions) * records * plan.handle_ms / 1000

    def item(name: str, quantity: float, unit: str, price: str, per: float = 1.0) -> CostItem:
        return CostItem(name=name, quantity=quantity, unit=unit, per=per, price=prices.price(price))

    hours = math.ceil(experiment.seconds / HOUR_S)
    million = 1e6
    items = (
        item(
            "PUT units of 25 KB",
            records * math.ceil(size_bytes / PUT_UNIT_BYTES),
            "units",
            "put_units_per_million",
            million,
        ),
        item(
            "EFO consumers registered for the run",
            extra * experiment.shards * hours,
            "h",
            "efo_consumer_shard_hour",
        ),
        item("EFO retrieval", pushed * records * size_bytes / GB, "GB", "efo_retrieval_per_gb"),
        item("Lambda requests", invocations, "requests", "lambda_requests_per_million", million),
        item("Lambda duration", busy_s * MEMORY_GB, "GB-s", "lambda_x86_64_gb_second"),
    )
    return Cost(items)


def _invocations(kind: str, experiment: Experiment, records: int) -> float:
    """At most one a record, and of a standard mapping one a poll."""
    if kind == "lambda-efo":
        return float(records)
    return min(records, experiment.shards * experiment.seconds * POLLS_PER_S + records / 100)


def cost_text(cost: Cost, prices: RegionPrices) -> str:
    """For a terminal: what it will cost, and what that leaves out."""
    lines = [
        f"  {item.name:<38}{item.quantity:>14,.2f} {item.unit:<9}"
        + ("unknown" if item.usd is None else f"${item.usd:.4f}")
        for item in cost.items
        if item.quantity
    ]
    dated = f"list prices of {prices.as_of}" if prices.as_of else prices.source
    return "\n".join(
        [
            f"This run will cost about {cost} in {prices.region} ({dated}):",
            *lines,
            "  beside the deployed stacks themselves, logs and metrics.",
        ]
    )
