"""``shardlane-lab run`` in virtual time, with variants, and what it says before a run on AWS."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest

from shardlane_lab.cli.main import main
from shardlane_lab.cli.run import run_simulated
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_file import find, load
from shardlane_lab.run_folders import run_folders
from shardlane_lab.run_record import read_run
from shardlane_lab.virtual_time import VirtualTimeLoop

SWEEP = """
name = "sweep"
title = "A sweep"
seconds = 4
[load]
rate_per_s = 5
[[consumers]]
kind = "boto3-get-records"
""" + "".join(
    f"""
[[variants]]
name = "every-{interval_ms}"
consumers = [{{ kind = "boto3-get-records", interval_ms = {interval_ms} }}]
"""
    for interval_ms in (1000, 200)
)


def run(*arguments: str | Path) -> int:
    return main(["run", *map(str, arguments)])


def test_variants_run_one_after_the_other_into_one_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    file.write_text(SWEEP, encoding="utf-8")
    assert run(file, "--target", "simulated", "--out", out) == 0
    said = capsys.readouterr().out
    assert "A sweep: every-1000" in said
    assert "A sweep: every-200" in said
    assert run_folders([out]) == [out / "every-200", out / "every-1000"]  # numbers as numbers
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "every-200" in page
    assert main(["report", str(out), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_the_fast_model_writes_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(
        *("round-1", "--target", "simulated", "--model", "fast", "--seconds", "10"),
        *("--calibration", "H1", "--out", tmp_path),
    )
    assert status == 0
    record = read_run(tmp_path).record
    assert (record.target, record.sent) == ("simulated", 50)
    assert record.environment["model"] == "fast"
    assert record.environment["calibration"] == "H1"


def test_the_fast_model_refuses_by_name_what_it_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = ("--target", "simulated", "--model", "fast", "--out", tmp_path)
    assert run("outage", *fast) == 2
    assert "outage: the fast model does not have outages" in capsys.readouterr().err
    assert run("round-1", "--model", "fast", "--out", tmp_path) == 2
    assert "--model fast is for --target simulated" in capsys.readouterr().err


def test_a_virtual_run_that_is_stopped_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C does, in the middle of virtual time."""
    moments = iter(range(1_000_000))

    def interrupted(self: VirtualTimeLoop) -> float:
        if next(moments) == 30_000:
            signal.raise_signal(signal.SIGINT)
        return self._jumping.now_s

    monkeypatch.setattr(VirtualTimeLoop, "time", interrupted)
    whole: Experiment = load(find("round-1"))
    with pytest.raises(KeyboardInterrupt):
        run_simulated(tmp_path, whole, "H0")
    kept = read_run(tmp_path)
    assert not kept.record.complete
    assert 0 < kept.record.sent < 3000
    assert kept.samples
    assert main(["report", str(tmp_path)]) == 0


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that leads to an account; no thread of an SDK is left waiting either."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("no_aws")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no region: give --region"),
        (("--region", "eu-west-1"), "no credentials; configure them"),
        (("--region", "eu-west-1", "--profile", "moon"), "profile (moon) could not be found"),
    ],
)
def test_aws_is_checked_before_anything_starts(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = threading.active_count()
    assert run("round-1", "--target", "aws", "--out", tmp_path / "out", *options) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert threading.active_count() == threads
