"""Sizing, lanes, limits, catching up and cost: what the planner computes without simulating."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shardlane_lab.planner.catch_up import catch_up_minutes, drain_per_s
from shardlane_lab.planner.cost import Cost, Invocations, cost
from shardlane_lab.planner.limits import blockers, calls_per_s, read_utilisation
from shardlane_lab.planner.option import Group, Mode, Option, lanes, options, paced_interval_ms
from shardlane_lab.planner.question import PlanError, Question
from shardlane_lab.planner.sizing import Sizing, size, size_on_demand
from shardlane_lab.prices.price_table import shipped_prices
from shardlane_lab.run_record import Kind
from shardlane_lab.simulator.arrivals import Load
from shardlane_lab.simulator.model import simulate_shard
from shardlane_lab.simulator.parameters import H0
from shardlane_lab.simulator.reader import Reader

MIB = 1024 * 1024
ASKED = Question(rate_per_s=5)
VIRGINIA = shipped_prices().region("us-east-1")


def option(kind: Kind, count: int, mode: Mode = "provisioned", **values: Any) -> Option:
    return Option(name="one", groups=(Group(kind=kind, count=count, **values),), mode=mode)


class TestQuestion:
    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("rate_per_s", 0, "rate_per_s is 0; allowed is 0.001 to 1,000,000"),
            ("record_bytes", 11 * MIB, "allowed is 1 to 10,485,760"),
            ("consumers", 51, "consumers is 51; allowed is 1 to 50"),
            ("wanted_p99_ms", float("nan"), "wanted_p99_ms is nan"),
            ("retention_hours", 1, "allowed is 24 to 8,760"),
            ("memory_mb", 64, "allowed is 128 to 10,240"),
            ("architecture", "mips", "architecture is 'mips'; allowed are x86_64 and arm64"),
            ("calibration", "H7", "calibration is 'H7'; allowed are H0 and H1"),
        ],
    )
    def test_what_is_not_allowed_is_said(self, name: str, value: Any, says: str) -> None:
        values = {"rate_per_s": 1.0} | {name: value}
        with pytest.raises(PlanError, match=says):
            Question(**values)


class TestSizing:
    def test_a_trickle_needs_one_shard(self) -> None:
        sizing = size(ASKED)
        assert (sizing.shards, sizing.busiest_share, sizing.rate_per_s) == (1, 1.0, 5.0)

    @pytest.mark.parametrize(
        ("rate_per_s", "record_bytes"), [(2400, 100), (40, 64 * 1024), (10_000, 100)]
    )
    def test_the_busiest_shard_keeps_its_headroom(
        self, rate_per_s: float, record_bytes: int
    ) -> None:
        asked = Question(rate_per_s=rate_per_s, record_bytes=record_bytes, keys=10_000)
        sizing = size(asked)
        assert sizing.write_utilisation <= 0.8
        fewer = size(replace(asked, shards=sizing.shards - 1))
        assert fewer.write_utilisation > 0.8

    def test_few_keys_do_not_spread_evenly(self) -> None:
        sizing = size(Question(rate_per_s=100, keys=10, shards=4))
        assert sizing.busiest_keys > 10 / 4
        assert sizing.busiest_share == sizing.busiest_keys / 10

    def test_a_million_keys_spread_evenly(self) -> None:
        sizing = size(Question(rate_per_s=100, keys=1_000_000, shards=4))
        assert sizing.busiest_share == 0.25

    def test_one_key_cannot_be_more_than_a_shard_takes(self) -> None:
        with pytest.raises(PlanError, match="keys is 2: each carries 1,500 records/s"):
            size(Question(rate_per_s=3000, keys=2))

    @pytest.mark.parametrize(("rate_per_s", "shards"), [(5, 4), (2500, 5), (10_000, 20)])
    def test_on_demand_has_four_shards_or_room_for_twice_the_load(
        self, rate_per_s: float, shards: int
    ) -> None:
        asked = Question(rate_per_s=rate_per_s, record_bytes=100, keys=100_000, shards=1)
        assert size_on_demand(asked).shards == shards

    def test_slow_handlers_need_shards_of_their_own(self) -> None:
        """100/s × 500 ms are 50 handlers; a shard has 10 lanes, 70 % of them planned."""
        asked = Question(rate_per_s=100, handler_ms=500, keys=100_000)
        assert size(asked).shards == 8
        assert size(replace(asked, handler_ms=0)).shards == 1

    def test_the_load_is_that_of_the_busiest_shard(self) -> None:
        asked = Question(rate_per_s=100, keys=10, shards=4)
        load = size(asked).load(asked, 60)
        assert load.rate_per_s == size(asked).rate_per_s
        assert load.seconds == 60


class TestLanes:
    @pytest.mark.parametrize(
        ("handler_ms", "expected"), [(0, 1), (139, 1), (141, 2), (700, 5), (5000, 10)]
    )
    def test_more_than_one_only_if_rate_times_time_asks_for_it(
        self, handler_ms: float, expected: int
    ) -> None:
        asked = Question(rate_per_s=5, handler_ms=handler_ms, shards=1)
        assert lanes(asked, size(asked), "lambda-efo") == expected

    def test_no_more_than_there_are_keys(self) -> None:
        asked = Question(rate_per_s=5, handler_ms=1000, keys=3, shards=1)
        assert lanes(asked, size(asked), "boto3-efo") == 3

    def test_three_pollers_pace_at_750_ms(self) -> None:
        assert paced_interval_ms(3) == 750


class TestOptions:
    def test_mixes_need_three_consumers(self) -> None:
        def names(consumers: int) -> list[str]:
            asked = replace(ASKED, consumers=consumers)
            return [each.name for each in options(asked, size(asked), size_on_demand(asked))]

        assert not any("+" in name for name in names(2))
        assert "2 Lambda EFO + 1 standard" in names(3)
        assert "2 boto3 EFO + 1 polling" in names(3)

    def test_every_option_has_all_consumers(self) -> None:
        for consumers in (1, 3, 20):
            asked = replace(ASKED, consumers=consumers)
            for each in options(asked, size(asked), size_on_demand(asked)):
                assert sum(group.count for group in each.groups) == consumers

    def test_a_slow_handler_gets_batches_that_end_in_time(self) -> None:
        asked = Question(rate_per_s=0.01, handler_ms=60_000)
        offered = options(asked, size(asked), size_on_demand(asked))
        assert {group.batch_size for each in offered for group in each.groups} == {7}


class TestLimits:
    @pytest.mark.parametrize(
        ("given", "says"),
        [
            (option("lambda-standard", 12), "12 standard mappings poll a shard 12 times a second"),
            (option("lambda-efo", 21), "21 EFO consumers; .* provisioned mode has at most 20"),
            (option("lambda-efo", 51, "advantage"), "51 EFO consumers; .* at most 50"),
        ],
    )
    def test_limits_are_named(self, given: Option, says: str) -> None:
        found = blockers(ASKED, size(ASKED), given)
        assert len(found) == 1
        assert re.search(says, found[0])

    def test_what_is_within_the_limits_is_not_blocked(self) -> None:
        for given in (
            option("lambda-standard", 5),
            option("lambda-efo", 20),
            option("lambda-efo", 50, "advantage"),
            option("boto3-get-records", 20),
        ):
            assert blockers(ASKED, size(ASKED), given) == []

    def test_shared_readers_share_2_mib_a_second(self) -> None:
        asked = Question(rate_per_s=10, record_bytes=MIB // 16, shards=1)  # 0.625 MiB/s
        assert blockers(asked, size(asked), option("boto3-get-records", 3)) == []
        (found,) = blockers(asked, size(asked), option("boto3-get-records", 4))
        assert found == "4 shared readers ask for 2.5 MiB/s of a shard; it gives 2 to all of them"
        assert blockers(asked, size(asked), option("boto3-efo", 4)) == []

    def test_a_shard_takes_a_mib_and_a_thousand_records(self) -> None:
        asked = Question(rate_per_s=1500, shards=1)
        (found,) = blockers(asked, size(asked), option("lambda-efo", 1))
        assert found.startswith("the busiest of 1 shards gets 1,500 records/s and 1.46 MiB/s")

    def test_an_event_has_6_mb(self) -> None:
        asked = Question(rate_per_s=0.1, record_bytes=5 * MIB, shards=1)
        (found,) = blockers(asked, size(asked), option("lambda-standard", 1))
        assert "makes an event of 6.7 MB; Lambda takes 6" in found
        assert blockers(asked, size(asked), option("boto3-efo", 1)) == []

    def test_handlers_that_cannot_keep_up(self) -> None:
        asked = Question(rate_per_s=5, handler_ms=3000, shards=1)
        (found,) = blockers(asked, size(asked), option("lambda-efo", 1, handler_ms=3000, lanes=10))
        assert "keep 15.0 handlers of a shard busy; ParallelizationFactor 10 is the most" in found

    def test_one_key_that_cannot_keep_up(self) -> None:
        asked = Question(rate_per_s=5, keys=2, handler_ms=500, shards=1)
        (found,) = blockers(asked, size(asked), option("lambda-efo", 1, handler_ms=500, lanes=2))
        assert "a key gets 2.5 records/s of 500 ms each, one after the other" in found

    def test_calls(self) -> None:
        polling = option("boto3-get-records", 3, interval_ms=750)
        assert calls_per_s(polling.groups[0]) == pytest.approx(3.97, rel=0.01)
        calls, _ = read_utilisation(polling, size(ASKED))
        assert calls == pytest.approx(0.794, rel=0.01)
        assert read_utilisation(option("lambda-efo", 9), size(ASKED)) == (0, 0)


class TestCatchUp:
    ASKED = Question(rate_per_s=100, record_bytes=10_000, shards=1, outage_minutes=10)

    def minutes(self, given: Option, asked: Question | None = None) -> float | None:
        asked = asked or self.ASKED
        return catch_up_minutes(asked, size(asked), given, given.groups[0], overhead_ms=5)

    def test_efo_reads_2_mib_a_second_and_shared_readers_share_it(self) -> None:
        """A backlog of 60,000 records at 210 a second less the 100 that still come."""
        assert self.minutes(option("boto3-efo", 3)) == pytest.approx(1000 / (209.7 - 100), rel=0.01)
        assert self.minutes(option("boto3-get-records", 1)) == self.minutes(option("boto3-efo", 1))
        assert self.minutes(option("boto3-get-records", 2)) == pytest.approx(1000 / 4.86, rel=0.01)
        assert self.minutes(option("boto3-get-records", 3)) is None

    def test_handlers_bound_it(self) -> None:
        """Five lanes of 20 ms and a hundredth of the overhead: 249 records a second."""
        asked = replace(self.ASKED, record_bytes=100, handler_ms=20)
        given = option("lambda-efo", 1, handler_ms=20, lanes=5)
        assert drain_per_s(asked, size(asked), given, given.groups[0], 5) == pytest.approx(
            249.4, 0.01
        )
        assert self.minutes(option("boto3-efo", 1, handler_ms=20, lanes=2), asked) is None

    def test_no_outage_needs_no_catching_up(self) -> None:
        assert self.minutes(option("boto3-efo", 1), replace(self.ASKED, outage_minutes=0)) == 0

    def test_the_simulator_agrees(self) -> None:
        """A backlog of 120 MiB in an instant, then 0.5 MiB/s; two pollers with 1 MiB/s each, of
        which the slower one is done when the arithmetic says both are."""
        backlog, after = np.zeros(1200), np.arange(1500) * 200.0
        load = Load(rate_per_s=5, seconds=300, record_bytes=MIB // 10, producer="many")
        readers = [
            Reader(label=f"p{number}", kind="boto3-get-records", interval_ms=600)
            for number in (1, 2)
        ]
        run = simulate_shard(load, readers, H0, 1, np.concatenate((backlog, after)))
        caught_up_s = [
            after[np.flatnonzero(run.latency_ms(reading)[len(backlog) :] < 1500)[0]] / 1000
            for reading in run.readings
        ]
        assert max(caught_up_s) == pytest.approx(120 / (1.0 - 0.5), rel=0.1)


class TestCost:
    SIZING = Sizing(shards=2, busiest_share=0.5, busiest_keys=500, rate_per_s=50, bytes_per_s=51200)
    ASKED = Question(rate_per_s=100, record_bytes=1024, shards=2)
    NONE = Invocations(per_s=0, busy_ms=0)

    def of(self, given: Option, asked: Question | None = None, **values: Any) -> Cost:
        invoked = values.get("invoked", self.NONE)
        return cost(
            asked or self.ASKED, self.SIZING, given, invoked, values.get("prices", VIRGINIA)
        )

    @staticmethod
    def usd(priced: Cost) -> dict[str, float | None]:
        return {item.name: item.usd and round(item.usd, 2) for item in priced.items}

    def test_provisioned(self) -> None:
        """2 × 730 h × $0.015; 262.8 million units of 25 KB × $0.014; 3 × 1,460 h × $0.015;
        3 × 250.6 GB × $0.013."""
        assert self.usd(self.of(option("lambda-efo", 3))) == {
            "shard-hours": 21.90,
            "PUT units of 25 KB": 3.68,
            "EFO consumer-shard-hours": 65.70,
            "EFO retrieval": 9.77,
        }

    def test_one_efo_consumer_doubles_the_shard_bill(self) -> None:
        priced = self.usd(self.of(option("lambda-efo", 1)))
        assert priced["EFO consumer-shard-hours"] == priced["shard-hours"]

    def test_shared_readers_cost_nothing(self) -> None:
        one, twenty = (self.of(option("lambda-standard", count)) for count in (1, 20))
        assert one.known_usd == twenty.known_usd

    @pytest.mark.parametrize(("record_bytes", "units"), [(25 * 1024, 1), (25 * 1024 + 1, 2)])
    def test_a_put_unit_is_25_kb_of_one_record(self, record_bytes: int, units: int) -> None:
        priced = self.of(option("lambda-efo", 1), replace(self.ASKED, record_bytes=record_bytes))
        (item,) = (each for each in priced.items if each.name.startswith("PUT"))
        assert item.quantity == units * 100 * 730 * 3600

    def test_on_demand_rounds_records_up_to_a_kb(self) -> None:
        """730 h × $0.04; 501.3 GB in × $0.08; 3 × 250.9 GB out × $0.05 or 0.04."""
        asked = replace(self.ASKED, record_bytes=1025)
        efo = self.usd(self.of(option("lambda-efo", 3, "on-demand"), asked))
        shared = self.usd(self.of(option("lambda-standard", 3, "on-demand"), asked))
        assert efo == {"stream-hours": 29.20, "data in": 40.10, "data out, EFO": 37.63}
        assert shared["data out, shared"] == 30.10

    def test_advantage_bills_25_mib_a_second_at_least(self) -> None:
        """25 MiB/s for 2,628,000 s are 64,160 GB, at $0.032 in and $0.016 out."""
        least = self.usd(self.of(option("lambda-efo", 3, "advantage")))
        assert least["data in, at least 25 MiB/s"] == pytest.approx(2053.125, abs=0.01)
        assert least["data out, at least 25 MiB/s"] == pytest.approx(1026.56, abs=0.01)
        asked = replace(self.ASKED, rate_per_s=50_000, consumers=3)
        busy = self.usd(self.of(option("lambda-efo", 3, "advantage"), asked))
        assert busy["data out, at least 25 MiB/s"] == pytest.approx(1026.56 * 146.48 / 25, rel=1e-3)

    def test_lambda(self) -> None:
        """10 a second are 26.28 million: × $0.20; × 20 ms × 0.125 GB × $0.0000166667."""
        invoked = Invocations(per_s=10, busy_ms=20)
        priced = self.usd(self.of(option("lambda-standard", 1), invoked=invoked))
        assert priced["Lambda requests"] == 5.26
        assert priced["Lambda duration, x86_64"] == 1.10
        arm = self.of(
            option("lambda-standard", 1),
            replace(self.ASKED, architecture="arm64"),
            invoked=invoked,
        )
        assert self.usd(arm)["Lambda duration, arm64"] == 0.88

    def test_retention(self) -> None:
        month = replace(self.ASKED, retention_hours=720)
        priced = self.usd(self.of(option("lambda-standard", 1), month))
        assert priced["extended retention"] == 29.20  # 1,460 shard-hours × $0.020
        assert priced["long-term retention"] == 4.36  # 189.5 GB × $0.023
        week = self.usd(self.of(option("lambda-standard", 1), replace(month, retention_hours=168)))
        assert "long-term retention" not in week

    def test_what_has_no_price_is_named_and_left_out(self) -> None:
        tokyo = shipped_prices().region("ap-northeast-1")
        priced = self.of(option("lambda-efo", 1), prices=tokyo)
        assert priced.unknown == ["EFO consumer-shard-hours", "EFO retrieval"]
        assert priced.known_usd == pytest.approx(1460 * 0.0195 + 262.8 * 0.0215)
        assert str(priced) == "$34.12 and what has no known price"

    def test_machines_of_boto3_consumers(self) -> None:
        unpriced = self.of(option("boto3-efo", 2))
        assert str(unpriced).endswith("and machines")
        assert unpriced.unlisted == []
        priced = self.of(option("boto3-efo", 2), replace(self.ASKED, machine_usd=7.5))
        assert priced.known_usd == pytest.approx(unpriced.known_usd + 15)
