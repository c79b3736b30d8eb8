"""Price tables: dated, replaceable, and silent about what nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlane_lab.prices.price_table import (
    PRICE_NAMES,
    PriceError,
    parse,
    read_prices,
    shipped_prices,
)

SMALL = """
[regions.here]
as_of = "2026-01-02"
source = "a letter"
[regions.here.prices]
shard_hour = 1
put_units_per_million = { usd = 2.5, as_of = 2026-03-04, source = "another" }
"""


def test_every_price_that_ships_is_dated_and_says_where_it_is_from() -> None:
    for region in shipped_prices().regions.values():
        for price in region.prices.values():
            assert price.as_of.startswith("2026-")
            assert price.source
            assert price.usd > 0


def test_virginia_is_complete_and_tokyo_says_what_it_lacks() -> None:
    table = shipped_prices()
    virginia, tokyo = table.region("us-east-1"), table.region("ap-northeast-1")
    assert set(virginia.prices) == set(PRICE_NAMES)
    assert tokyo.price("efo_consumer_shard_hour") is None
    assert tokyo.price("efo_retrieval_per_gb") is None
    found = tokyo.price("shard_hour")
    assert found is not None
    assert found.usd == 0.0195


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("shard_hour", 0.015),
        ("put_units_per_million", 0.014),
        ("efo_consumer_shard_hour", 0.015),
        ("efo_retrieval_per_gb", 0.013),
        ("extended_retention_shard_hour", 0.020),
        ("long_term_retention_per_gb_month", 0.023),
        ("lambda_requests_per_million", 0.20),
        ("lambda_x86_64_gb_second", 0.0000166667),
        ("lambda_arm64_gb_second", 0.0000133334),
    ],
)
def test_virginias_list_prices(name: str, usd: float) -> None:
    price = shipped_prices().region("us-east-1").price(name)
    assert price is not None
    assert price.usd == usd


def test_a_price_has_its_regions_date_or_its_own() -> None:
    region = parse(SMALL, "a file").region("here")
    plain, own = region.price("shard_hour"), region.price("put_units_per_million")
    assert plain is not None
    assert own is not None
    assert (plain.usd, plain.as_of, plain.source) == (1.0, "2026-01-02", "a letter")
    assert (own.usd, own.as_of, own.source) == (2.5, "2026-03-04", "another")


def test_a_region_that_is_not_in_the_table_has_no_known_price() -> None:
    elsewhere = parse(SMALL, "a file").region("elsewhere")
    assert [elsewhere.price(name) for name in PRICE_NAMES] == [None] * len(PRICE_NAMES)


def test_a_price_that_nothing_has_is_a_programming_error() -> None:
    with pytest.raises(KeyError, match="shard_minute"):
        shipped_prices().region("us-east-1").price("shard_minute")


def test_a_file_replaces_the_table(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(SMALL, encoding="utf-8")
    table = read_prices(file)
    assert list(table.regions) == ["here"]
    assert table.origin == str(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("= 1", "not TOML"),
        ("a = 1", r"must be a table \[regions.NAME\]"),
        ('[regions.x]\nas_of = "2026-01-01"', r"must be a table \[regions.x.prices\]"),
        ("[regions.x.prices]\nshard_hour = 1", "as_of must be the date"),
        (SMALL.replace("2026-01-02", "soon"), "found 'soon'"),
        (SMALL.replace("shard_hour", "shard_hours"), "no price is called 'shard_hours'; allowed"),
        (SMALL.replace("= 1", "= -1"), "a number of USD from 0 on; found -1"),
        (SMALL.replace("= 1", "= true"), "a number of USD from 0 on; found True"),
        (SMALL.replace("= 1", '= "1"'), "a number of USD from 0 on; found '1'"),
        (SMALL.replace("usd = 2.5", "eur = 2.5"), "allowed are usd"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(text: str, says: str) -> None:
    with pytest.raises(PriceError, match=says) as caught:
        parse(text, "a file")
    assert str(caught.value).startswith("a file: ")


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match=r"cannot read the prices .*none\.toml: No such file"):
        read_prices(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(PriceError, match="not UTF-8 text"):
        read_prices(broken)
