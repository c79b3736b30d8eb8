"""Reads a price table. Nothing is guessed: a price that is not in it is ``None``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from shardlane_lab.errors import LabError

PRICE_NAMES = (
    "shard_hour",
    "put_units_per_million",
    "efo_consumer_shard_hour",
    "efo_retrieval_per_gb",
    "extended_retention_shard_hour",
    "long_term_retention_per_gb_month",
    "lambda_requests_per_million",
    "lambda_x86_64_gb_second",
    "lambda_arm64_gb_second",
    "on_demand_stream_hour",
    "on_demand_in_per_gb",
    "on_demand_out_per_gb",
    "on_demand_efo_out_per_gb",
    "advantage_in_per_gb",
    "advantage_out_per_gb",
)
"""Every price that the planner knows how to use. All are USD."""


class PriceError(LabError):
    """A price table that cannot be read: names the file, the entry and what is allowed."""


@dataclass(frozen=True, slots=True)
class Price:
    usd: float
    as_of: str
    """ISO date of the list."""
    source: str


@dataclass(frozen=True, slots=True)
class RegionPrices:
    region: str
    as_of: str
    source: str
    prices: Mapping[str, Price]

    def price(self, name: str) -> Price | None:
        """None if the table does not have it. Raises ``KeyError`` for a name that nothing has."""
        if name not in PRICE_NAMES:
            raise KeyError(name)
        return self.prices.get(name)


@dataclass(frozen=True, slots=True)
class PriceTable:
    origin: str
    """Where it was read: a path, or that it ships with the lab."""
    regions: Mapping[str, RegionPrices]

    def region(self, name: str) -> RegionPrices:
        """A region that is not in the table has no known price at all."""
        if name in self.regions:
            return self.regions[name]
        return RegionPrices(name, "", f"no region {name!r} in the table", {})


def shipped_prices() -> PriceTable:
    text = resources.files("shardlane_lab.prices").joinpath("list_prices.toml").read_text("utf-8")
    return parse(text, "the price table that ships with shardlane-lab")


def read_prices(path: Path) -> PriceTable:
    """Raises ``PriceError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PriceError(f"cannot read the prices {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PriceError(f"{path}: not UTF-8 text: {error}") from error
    return parse(text, str(path))


def parse(text: str, origin: str) -> PriceTable:
    """Raises ``PriceError``."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PriceError(f"{origin}: not TOML: {error}") from error
    regions = document.get("regions")
    if not isinstance(regions, dict) or not regions:
        raise PriceError(f"{origin}: there must be a table [regions.NAME] for each region")
    return PriceTable(
        origin,
        {name: _region(f"{origin}: regions.{name}", name, regions[name]) for name in regions},
    )


def _region(where: str, name: str, values: Any) -> RegionPrices:
    if not isinstance(values, dict) or not isinstance(values.get("prices"), dict):
        raise PriceError(f"{where}: there must be a table [regions.{name}.prices]")
    as_of, source = _date(where, values.get("as_of")), str(values.get("source", "not said"))
    given = values["prices"]
    unknown = sorted(set(given) - set(PRICE_NAMES))
    if unknown:
        raise PriceError(
            f"{where}.prices: no price is called {unknown[0]!r}; "
            f"allowed are {', '.join(PRICE_NAMES)}"
        )
    prices = {each: _price(f"{where}.prices.{each}", given[each], as_of, source) for each in given}
    return RegionPrices(name, as_of, source, prices)


def _price(where: str, given: Any, as_of: str, source: str) -> Price:
    if isinstance(given, dict):
        stray = sorted(set(given) - {"usd", "as_of", "source"})
        if stray or "usd" not in given:
            raise PriceError(
                f"{where}: allowed are usd (needed), as_of and source; found {given!r}"
            )
        as_of = _date(where, given.get("as_of", as_of))
        source, given = str(given.get("source", source)), given["usd"]
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise PriceError(f"{where}: a price is a number of USD from 0 on; found {given!r}")
    return Price(float(given), as_of, source)


def _date(where: str, given: Any) -> str:
    if isinstance(given, date):
        return given.isoformat()
    try:
        return date.fromisoformat(given).isoformat()
    except (TypeError, ValueError):
        raise PriceError(
            f'{where}: as_of must be the date of the list, such as "2026-11-30"; found {given!r}'
        ) from None
