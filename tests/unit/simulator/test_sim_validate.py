"""The model comes as close to the published measurement as it has to, and a worse one does not."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from shardlane_lab.cli import validate as command
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limiter import LimiterShape
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.simulator import calibration
from shardlane_lab.simulator import validate as comparison
from shardlane_lab.simulator.calibration import FITTED, profiles
from shardlane_lab.simulator.parameters import H1, Parameters
from shardlane_lab.simulator.seeds import run_settings
from shardlane_lab.simulator.validate import Validation, round_setting, validate
from shardlane_lab.simulator.validate_text import as_json, render

SEEDS = 24
"""Of 100 that the command runs; medians move by a few percent, the bounds are wider."""


@pytest.fixture(scope="module")
def validation() -> Validation:
    return validate(SEEDS, processes=1)


def test_every_bound_holds(validation: Validation) -> None:
    assert validation.failed == []


def test_what_is_gated(validation: Validation) -> None:
    """Both EFO consumers (3 percentiles) and the standard mapping (2), in two rounds under two
    calibrations; under H1 in Round 2 also three pollers (4), throttles and surfaced ones."""
    assert len(validation.gated) == 2 * 2 * (2 * 3 + 2) + 3 * 4 + 2


def test_round_2_is_compared_in_every_published_figure(validation: Validation) -> None:
    cells = validation.of("2", "H1")
    assert len(cells) == 6 * 4 + 4
    pollers = [cell for cell in cells if cell.label.startswith("boto3-get-records")]
    assert all(cell.low < cell.median < cell.high for cell in pollers)
    assert all(cell.ratio is not None and 0.6 < cell.ratio < 1.4 for cell in pollers)


WRONG = {
    "EFO 8 ms late": replace(H1, delays=replace(Delays.measured(), push_base_ms=25.5)),
    "twice the calls": replace(H1, limits=Limits(get_records_per_s=10)),
    "a sliding window": replace(H1, limits=Limits(get_records_shape=LimiterShape.SLIDING_WINDOW)),
    "no retries": replace(H1, retries=replace(H1.retries, max_attempts=1)),
    "a poll every 1.3 s": replace(H1, polling=replace(H1.polling, interval_s=1.3)),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_model_misses_a_bound(what: str) -> None:
    wrong: Parameters = WRONG[what]
    assert validate(4, processes=1, calibrations=[wrong]).failed


def test_processes_change_nothing() -> None:
    setting = round_setting("1", H1)
    shared = run_settings([setting], 12, processes=2)
    assert shared == run_settings([setting], 12, processes=1)


def test_progress_ends_at_one() -> None:
    shares: list[float] = []
    run_settings([round_setting("1", H1)], 11, processes=1, on_progress=shares.append)
    assert shares == [0.5, 1.0]


def test_no_seeds_is_an_error() -> None:
    with pytest.raises(ValueError, match="seeds must be at least 1: 0"):
        validate(0)


class TestCalibration:
    def test_round_1_alone_does_not_contradict_the_fitted_values(self) -> None:
        """Every value is within three standard deviations of what Round 1 shows, and its best
        neighbour is hardly better, but for two that the text names."""
        judged = {each.fitted.name: each for each in profiles(5, processes=1)}
        assert set(judged) == {each.name for each in FITTED}
        for name in set(judged) - {"backoff_factor", "interval_s"}:
            assert judged[name].scores[judged[name].used] < 9, name
        interval = judged["interval_s"].scores
        assert max(interval[0.95], interval[0.995]) < min(interval[0.9], interval[1.05])
        assert judged["backoff_factor"].used == 1.0
        assert judged["backoff_factor"].best > 1.0

    def test_a_value_is_found_where_it_is_used(self) -> None:
        for each in FITTED:
            assert each.value(H1) == H1.retries.backoff_factor or each.value(H1) in each.candidates
            changed = each.with_value(H1, each.candidates[0])
            assert each.value(changed) == each.candidates[0]


class TestOutput:
    def test_text(self, validation: Validation) -> None:
        text = render(validation, [])
        assert "Round 2 (predicted), H1" in text
        assert f"All {len(validation.gated)} bounds hold." in text
        assert max(len(line) for line in text.splitlines()) <= 110

    def test_json(self, validation: Validation) -> None:
        document = json.loads(as_json(validation, []))
        assert document["holds"] is True
        assert document["seeds"] == SEEDS
        assert len(document["cells"]) == len(validation.cells)

    def test_a_missed_bound_is_named(self) -> None:
        wrong = WRONG["EFO 8 ms late"]
        text = render(validate(2, processes=1, calibrations=[wrong]), [])
        assert "MISSED" in text
        assert "Round 2 H1 lambda-efo p50" in text.splitlines()[-1]


def test_the_command_line_starts_without_numpy() -> None:
    """It takes longer to import than everything else together."""
    commands = "shardlane_lab.cli.plan, shardlane_lab.cli.validate"
    code = f"import sys, {commands}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestCommand:
    @staticmethod
    def given(*words: str) -> argparse.Namespace:
        top = argparse.ArgumentParser()
        command.add_to(top.add_subparsers())
        return top.parse_args(["validate", *words])

    def test_its_status_is_whether_the_bounds_hold(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(calibration, "profiles", lambda **_: [])
        given = self.given("--seeds", "2", "--processes", "1", "--json")
        good = validate(2, processes=1, calibrations=[])
        bad = validate(2, processes=1, calibrations=[WRONG["EFO 8 ms late"]])
        for result, status in ((good, 0), (bad, 1)):
            monkeypatch.setattr(comparison, "validate", lambda *_, result=result, **__: result)
            assert command.execute(given) == status
            assert json.loads(capsys.readouterr().out)["holds"] is (status == 0)

    @pytest.mark.parametrize("word", ["0", "-3", "many"])
    def test_seeds_are_a_whole_number_from_1(
        self, word: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            self.given("--seeds", word)
        assert word in capsys.readouterr().err
