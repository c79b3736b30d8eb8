"""What an option costs a month, item by item, from a price table. Unknown prices stay unknown.

How each item is billed: "Amazon Kinesis Data Streams pricing" and "AWS Lambda pricing".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from shardlane_lab.planner.option import Option
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import Sizing
from shardlane_lab.prices.price_table import Price, RegionPrices

HOURS = 730.0
"""Of an average month."""
SECONDS = HOURS * 3600.0
GB = 1024.0**3
PUT_UNIT_BYTES = 25 * 1024
DAY_HOURS = 24.0
WEEK_HOURS = 168.0
MACHINES = "machines of boto3 consumers"
ADVANTAGE_LEAST_BYTES_PER_S = 25.0 * 1024.0 * 1024.0
"""Billed at least, written and read, by all on-demand streams of an account and region
together; a stream alone pays all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostItem:
    name: str
    quantity: float
    unit: str
    per: float
    """How many units the price is for."""
    price: Price | None
    """None: not in the price table."""

    @property
    def usd(self) -> float | None:
        return None if self.price is None else self.quantity / self.per * self.price.usd


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one month."""

    items: tuple[CostItem, ...]

    @property
    def known_usd(self) -> float:
        """Of the items that have a price."""
        return sum(item.usd or 0.0 for item in self.items)

    @property
    def unknown(self) -> list[str]:
        """Items without a price."""
        return [item.name for item in self.items if item.price is None]

    @property
    def unlisted(self) -> list[str]:
        """Those of them that the price table lacks; machines are no part of it."""
        return [name for name in self.unknown if name != MACHINES]

    def __str__(self) -> str:
        """The sum, and whether it is all."""
        lacks = " and what has no known price" if self.unlisted else ""
        machines = " and machines" if MACHINES in self.unknown else ""
        return f"${self.known_usd:,.2f}{machines}{lacks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocations:
    """Of all functions and shards together."""

    per_s: float
    busy_ms: float
    """Duration of one, on average."""


def cost(
    question: Question,
    sizing: Sizing,
    option: Option,
    invocations: Invocations,
    prices: RegionPrices,
) -> Cost:
    priced = _Items(prices)
    parts = {
        "provisioned": _provisioned,
        "on-demand": _on_demand,
        "advantage": _advantage,
    }
    items = [
        *parts[option.mode](question, sizing, option, priced),
        *_lambda(question, invocations, priced),
    ]
    if option.boto3_consumers:
        machines = question.machine_usd
        price = None if machines is None else Price(machines, "", "given")
        items.append(
            CostItem(
                name=MACHINES,
                quantity=option.boto3_consumers,
                unit="consumers",
                per=1,
                price=price,
            )
        )
    return Cost(tuple(items))


class _Items:
    """Makes items from the prices of one region."""

    def __init__(self, prices: RegionPrices) -> None:
        self._prices = prices

    def item(self, name: str, quantity: float, unit: str, price: str, per: float = 1.0) -> CostItem:
        return CostItem(
            name=name, quantity=quantity, unit=unit, per=per, price=self._prices.price(price)
        )


def _provisioned(
    question: Question, sizing: Sizing, option: Option, priced: _Items
) -> Iterator[CostItem]:
    shard_hours = sizing.shards * HOURS
    units = question.rate_per_s * SECONDS * math.ceil(question.record_bytes / PUT_UNIT_BYTES)
    yield priced.item("shard-hours", shard_hours, "h", "shard_hour")
    yield priced.item("PUT units of 25 KB", units, "units", "put_units_per_million", 1e6)
    fan_out = option.fan_out_consumers
    if fan_out:
        read_gb = fan_out * question.bytes_per_s * SECONDS / GB
        yield priced.item(
            "EFO consumer-shard-hours", fan_out * shard_hours, "h", "efo_consumer_shard_hour"
        )
        yield priced.item("EFO retrieval", read_gb, "GB", "efo_retrieval_per_gb")
    if question.retention_hours > DAY_HOURS:
        yield priced.item(
            "extended retention", shard_hours, "shard-hours", "extended_retention_shard_hour"
        )
    if question.retention_hours > WEEK_HOURS:
        kept_gb = question.bytes_per_s * (question.retention_hours - WEEK_HOURS) * 3600.0 / GB
        yield priced.item(
            "long-term retention", kept_gb, "GB-months", "long_term_retention_per_gb_month"
        )


def _on_demand(
    question: Question, sizing: Sizing, option: Option, priced: _Items
) -> Iterator[CostItem]:
    rounded_bytes = math.ceil(question.record_bytes / 1024) * 1024
    in_gb = question.rate_per_s * rounded_bytes * SECONDS / GB
    out_gb = question.bytes_per_s * SECONDS / GB
    yield priced.item("stream-hours", HOURS, "h", "on_demand_stream_hour")
    yield priced.item("data in", in_gb, "GB", "on_demand_in_per_gb")
    if option.shared_consumers:
        read_gb = option.shared_consumers * out_gb
        yield priced.item("data out, shared", read_gb, "GB", "on_demand_out_per_gb")
    if option.fan_out_consumers:
        read_gb = option.fan_out_consumers * out_gb
        yield priced.item("data out, EFO", read_gb, "GB", "on_demand_efo_out_per_gb")


def _advantage(
    question: Question, sizing: Sizing, option: Option, priced: _Items
) -> Iterator[CostItem]:
    rounded_bytes = math.ceil(question.record_bytes / 1024) * 1024
    written = max(question.rate_per_s * rounded_bytes, ADVANTAGE_LEAST_BYTES_PER_S)
    read = max(question.consumers * question.bytes_per_s, ADVANTAGE_LEAST_BYTES_PER_S)
    least = "at least 25 MiB/s"
    yield priced.item(f"data in, {least}", written * SECONDS / GB, "GB", "advantage_in_per_gb")
    yield priced.item(f"data out, {least}", read * SECONDS / GB, "GB", "advantage_out_per_gb")


def _lambda(question: Question, invocations: Invocations, priced: _Items) -> Iterator[CostItem]:
    if not invocations.per_s:
        return
    requests = invocations.per_s * SECONDS
    gb_s = requests * invocations.busy_ms / 1000.0 * question.memory_mb / 1024.0
    yield priced.item("Lambda requests", requests, "requests", "lambda_requests_per_million", 1e6)
    price = f"lambda_{question.architecture}_gb_second"
    yield priced.item(f"Lambda duration, {question.architecture}", gb_s, "GB-s", price)
