"""``make soak``: what it runs and what it says when something is found."""

from __future__ import annotations

import sys

import pytest

from tools import soak


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["soak.py", *arguments])
    return soak.main()


def test_a_share_of_a_soak_runs_and_passes(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--only", "histories", "--share", "0.0001", "--seed", "7") == 0
    said = capfd.readouterr().out
    assert "== histories: 2 seeds, seed 7" in said
    assert "2 histories from seed 7 on kept the contract" in said


def test_a_failure_is_printed_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(amount: int, seed: int) -> soak.Run:
        return soak.Run(["-c", f"raise SystemExit({amount})"], {"SEED": str(seed)})

    def sound(_amount: int, _seed: int) -> soak.Run:
        return soak.Run(["-c", "print('sound')"], {})

    soaks = [soak.Soak("one", 3, "tries", broken), soak.Soak("other", 1, "try", sound)]
    monkeypatch.setattr(soak, "SOAKS", soaks)
    assert run(monkeypatch, "--seed", "7") == 1
    said = capfd.readouterr().out
    assert "SEED=7 python -c 'raise SystemExit(3)'" in said
    assert "== other: passed" in said  # one that fails does not hold up the others
    assert said.endswith("failed: one\n")


def test_every_file_that_draws_examples_is_among_the_properties() -> None:
    arguments = soak.properties(5, 7).arguments
    assert "tests/unit/local_kinesis/test_stream_properties.py" in arguments
    assert "--hypothesis-seed=7" in arguments
