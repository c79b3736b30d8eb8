"""What the planner answers, and how it says it."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab.cli import plan as command
from shardlane_lab.planner import as_json, cost_table, text
from shardlane_lab.planner.measure import FEW_RECORDS, Measurer
from shardlane_lab.planner.option import options
from shardlane_lab.planner.plan import Plan, plan
from shardlane_lab.planner.question import PlanError, Question
from shardlane_lab.planner.sizing import size, size_on_demand
from shardlane_lab.planner.verdict import objections
from shardlane_lab.prices.price_table import shipped_prices
from shardlane_lab.simulator.parameters import H0

PRICES = shipped_prices()
DOCS = Path(__file__).parents[3] / "docs"


def answer(**values: Any) -> Plan:
    asked = Question(**({"rate_per_s": 5.0, "seeds": 2} | values))
    return plan(asked, PRICES.region(asked.region))


@pytest.fixture(scope="module")
def three() -> Plan:
    """Three consumers who want half a second."""
    return answer(consumers=3, wanted_p99_ms=500.0)


def names(found: Plan) -> list[str]:
    return [each.option.name for each in found.considered]


def by_name(found: Plan, name: str) -> Any:
    return next(each for each in found.considered if each.option.name == name)


class TestChoice:
    def test_without_a_wish_the_cheapest_that_keeps_up(self) -> None:
        found = answer(consumers=2)
        assert found.choice is not None
        assert found.choice.option.name == "Lambda standard"

    def test_half_a_second_takes_enhanced_fan_out(self, three: Plan) -> None:
        """Three EFO consumers cost $33 of consumer-shard-hours, which on-demand does not bill."""
        assert three.choice is not None
        assert three.choice.option.name == "On-demand, Lambda EFO"
        assert three.runner_up is not None
        assert three.runner_up.option.name == "Lambda EFO"
        assert three.choice.cost.known_usd < three.runner_up.cost.known_usd

    def test_the_choice_is_the_cheapest_without_an_objection(self, three: Plan) -> None:
        assert three.choice is not None
        fit = [
            each.cost.known_usd
            for each in three.considered
            if not objections(three.question, each) and not each.option.boto3_consumers
        ]
        assert three.choice.cost.known_usd == min(fit)

    def test_polling_three_times_at_200_ms_surfaces_throttles(self, three: Plan) -> None:
        found = by_name(three, "boto3 polling")
        assert re.search(r"\d+ throttling errors an hour", objections(three.question, found)[0])
        paced = by_name(three, "boto3 polling, 750 ms")
        assert paced.figures[0].throttled_per_minute == 0

    def test_machines_with_a_price_let_boto3_compete(self) -> None:
        found = answer(machine_usd=0.5, wanted_p99_ms=300.0)
        assert found.choice is not None
        assert found.choice.option.name == "boto3 polling"

    def test_nothing_does_it(self) -> None:
        found = answer(wanted_p99_ms=20.0)
        assert found.choice is None
        assert "Nothing here does what was asked:" in text.render(found)

    def test_a_budget_is_kept(self) -> None:
        found = answer(consumers=3, wanted_p99_ms=500.0, budget_usd=30.0)
        assert found.choice is None
        objection = objections(found.question, by_name(found, "Lambda EFO"))
        assert any(each.endswith("a month, budget $30.00") for each in objection)

    def test_without_prices_the_fewest_efo_consumers(self) -> None:
        found = answer(region="ap-northeast-1", consumers=3, wanted_p99_ms=500.0)
        assert found.choice is not None
        assert found.choice.option.name == "Lambda EFO"
        shown = text.render(found)
        assert "which is the cheapest cannot be" in " ".join(shown.split())
        assert "price unknown" in shown

    def test_twelve_standard_mappings_are_impossible_and_it_says_why(self) -> None:
        found = answer(consumers=12)
        blocked = by_name(found, "Lambda standard")
        assert blocked.figures == ()
        shown = " ".join(text.render(found).split())
        assert "impossible: 12 standard mappings poll a shard 12 times a second" in shown

    def test_thirty_consumers_on_efo_need_advantage(self) -> None:
        found = answer(consumers=30, wanted_p99_ms=500.0)
        assert found.choice is not None
        assert found.choice.option.mode == "advantage"

    def test_the_most_consumers_that_can_be_asked_for(self) -> None:
        assert answer(consumers=50, wanted_p99_ms=500.0, seeds=1).choice is not None

    def test_nobody_can_give_an_on_demand_stream_shards_for_slow_handlers(self) -> None:
        """2/s of 60 s each are 120 handlers: 40 lanes on the four shards it starts with."""
        found = answer(rate_per_s=2.0, handler_ms=60_000.0, seeds=1)
        assert by_name(found, "Lambda EFO").blockers == ()
        assert "take more shards" in by_name(found, "On-demand, Lambda EFO").blockers[0]


class TestFigures:
    def test_a_band_holds_its_median(self, three: Plan) -> None:
        for considered in three.considered:
            for figures in considered.figures:
                for band in (*figures.handled_ms.values(), *figures.received_ms.values()):
                    assert band.low <= band.median <= band.high

    def test_efo_costs_its_group_as_many_invocations_as_it_has_consumers(self, three: Plan) -> None:
        efo = by_name(three, "Lambda EFO").figures[0]
        mixed = by_name(three, "2 Lambda EFO + 1 standard").figures[0]
        assert efo.invocations_per_s == pytest.approx(3 / 2 * mixed.invocations_per_s)
        assert efo.invocations_per_s == pytest.approx(15, rel=0.12)

    def test_a_slow_handler_shows_between_receipt_and_end(self) -> None:
        found = answer(handler_ms=100.0)
        efo = by_name(found, "Lambda EFO").figures[0]
        assert efo.handled_ms["p50"].median >= efo.received_ms["p50"].median + 100
        assert efo.concurrency == pytest.approx(0.5, rel=0.15)

    def test_a_busy_shard_is_sampled_and_its_bytes_are_all_there(self) -> None:
        """400/s of 1,000 bytes through two pollers: 0.76 MiB/s of the shard's 2."""
        asked = Question(rate_per_s=400, record_bytes=1000, shards=1, consumers=2)
        measurer = Measurer(asked, size(asked), H0, 1)
        found = {each.name: each for each in options(asked, size(asked), size_on_demand(asked))}
        paced = measurer.measure(found["boto3 polling, 500 ms"])[0]
        assert paced.throttled_per_minute == 0
        assert paced.received_ms["p50"].median == pytest.approx(280, rel=0.1)

    def test_a_trickle_is_watched_until_it_has_said_something(self) -> None:
        asked = Question(rate_per_s=0.05)
        measurer = Measurer(asked, size(asked), H0, 1)
        offered = options(asked, size(asked), size_on_demand(asked))
        efo = measurer.measure(next(each for each in offered if each.name == "Lambda EFO"))[0]
        assert FEW_RECORDS / 0.05 == 2000
        assert efo.received_ms["p50"].median == pytest.approx(70, rel=0.15)

    def test_what_two_options_have_in_common_is_run_once(self) -> None:
        asked = Question(rate_per_s=5, consumers=3)
        runs: list[None] = []
        measurer = Measurer(asked, size(asked), H0, 2, on_run=lambda: runs.append(None))
        found = {each.name: each for each in options(asked, size(asked), size_on_demand(asked))}
        measurer.measure(found["Lambda EFO"])
        assert len(runs) == 2
        measurer.measure(replace(found["Lambda EFO"], name="again"))
        assert len(runs) == 2
        measurer.measure(found["2 Lambda EFO + 1 standard"])
        assert len(runs) == 4

    def test_the_same_question_has_the_same_answer(self, three: Plan) -> None:
        again = answer(consumers=3, wanted_p99_ms=500.0)
        assert as_json.render(again) == as_json.render(three)


class TestFlips:
    def said(self, found: Plan, argument: str) -> str:
        return " | ".join(each.sentence for each in found.flips if each.argument == argument)

    def test_by_wanted_p99(self, three: Plan) -> None:
        said = self.said(three, "wanted p99")
        assert re.search(r"under [12]\.\d+ s: .* instead of Lambda standard", said)
        assert said.endswith("nothing here does it")

    def test_by_consumers(self, three: Plan) -> None:
        assert self.said(three, "consumers") == "1: Lambda EFO; 2–20: On-demand, Lambda EFO"

    def test_by_pollers(self, three: Plan) -> None:
        assert self.said(three, "shared pollers").startswith("up to 1 every 200 ms")

    def test_one_more_consumer(self, three: Plan) -> None:
        said = self.said(three, "one more consumer")
        assert "boto3 polling: p50" in said
        assert "EFO: nothing" in said

    def test_by_handler_time(self, three: Plan) -> None:
        assert self.said(three, "handler time").startswith("over 140 ms a record")
        slow = answer(handler_ms=300.0)
        assert self.said(slow, "handler time").startswith("up to 140 ms a record")


class TestOutput:
    def test_one_screen(self, three: Plan) -> None:
        lines = text.render(three).splitlines()
        assert max(len(line) for line in lines) <= 100
        assert len(lines) <= 60
        assert not any(line != line.rstrip() for line in lines)

    def test_the_screen_says_what_it_does_not_know(self, three: Plan) -> None:
        shown = " ".join(text.render(three).split())
        assert "Outside the measured range, so an extrapolation: more than 2 EFO consumers" in shown
        assert "On-demand: priced from the table; for latency it is taken to be 4" in shown
        assert "Prices of us-east-1, 2026-11-30" in shown
        assert "(H0)" in shown

    def test_every_item_of_the_choice_is_shown(self, three: Plan) -> None:
        shown = text.render(three)
        assert three.choice is not None
        for item in three.choice.cost.items:
            assert item.name in shown

    def test_json(self, three: Plan) -> None:
        document = json.loads(as_json.render(three))
        assert document["choice"] == "On-demand, Lambda EFO"
        assert [each["name"] for each in document["options"]] == names(three)
        group = document["options"][0]["groups"][0]
        assert set(group["handled_ms"]["p99"]) == {"median", "low", "high"}
        assert all(item["price"]["as_of"] for item in document["options"][0]["cost"]["items"])

    def test_cost_table(self) -> None:
        table = cost_table.render(Question(rate_per_s=5), PRICES.region("us-east-1"))
        rows = [line for line in table.splitlines() if re.match(r"\| \d", line)]
        assert len(rows) == 20
        assert rows[0].startswith("| 1 | 11.13 |")
        assert "–" in rows[5]
        assert "–" not in rows[4]

    def test_the_pages_table_is_the_commands(self) -> None:
        """docs/choosing.md: regenerate with the command that it names."""
        page = (DOCS / "choosing.md").read_text(encoding="utf-8")
        begin, end = page.index("<!-- cost table:"), page.index("<!-- end of cost table -->")
        pasted = page[page.index("-->", begin) + 3 : end].strip()
        table = cost_table.render(Question(rate_per_s=5), PRICES.region("us-east-1"))
        assert pasted == table.strip()


class TestCommand:
    @staticmethod
    def given(*words: str) -> argparse.Namespace:
        top = argparse.ArgumentParser()
        command.add_to(top.add_subparsers())
        return top.parse_args(["plan", *words])

    def test_screen_and_status(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.execute(self.given("--rate", "5", "--seeds", "1")) == 0
        assert "Choose: Lambda standard" in capsys.readouterr().out
        assert command.execute(self.given("--rate", "5", "--seeds", "1", "--p99-ms", "9")) == 1

    def test_json_and_cost_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.execute(self.given("--rate", "5", "--seeds", "1", "--json")) == 0
        assert json.loads(capsys.readouterr().out)["question"]["rate_per_s"] == 5
        assert command.execute(self.given("--rate", "5", "--cost-table")) == 0
        assert capsys.readouterr().out.startswith("USD a month in us-east-1")

    def test_own_prices(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "prices.toml"
        file.write_text(
            '[regions.here]\nas_of = "2026-01-01"\n[regions.here.prices]\nshard_hour = 100\n'
        )
        words = ("--rate", "5", "--seeds", "1", "--region", "here", "--prices", str(file))
        assert command.execute(self.given(*words)) == 0
        assert "$73,000.00" in capsys.readouterr().out

    @pytest.mark.parametrize("word", ["x", "nan", "inf"])
    def test_a_number_is_a_number(self, word: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            self.given("--rate", word)
        assert word in capsys.readouterr().err

    def test_a_rate_is_needed(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            self.given()
        assert "--rate" in capsys.readouterr().err

    def test_what_is_not_allowed_is_an_error_for_a_person(self) -> None:
        with pytest.raises(PlanError, match="consumers is 99"):
            command.execute(self.given("--rate", "5", "--consumers", "99"))
