"""Experiment files: what ships loads, what is wrong is named."""

from pathlib import Path

import pytest

from shardlane_lab import experiment
from shardlane_lab.errors import ExperimentError

GOOD = """
name = "mine"
title = "Mine"
seconds = 10
[load]
rate_per_s = 5
[[consumers]]
kind = "boto3-get-records"
count = 2
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", experiment.shipped())
def test_every_shipped_experiment_loads_and_is_named_like_its_file(name: str) -> None:
    assert experiment.load(experiment.find(name)).name == name


def test_rounds_are_the_published_ones() -> None:
    one, two = (experiment.load(experiment.find(name)) for name in ("round-1", "round-2"))
    assert [label for label, _ in one.labels()] == [
        "lambda-standard",
        "lambda-efo",
        "boto3-efo",
        "boto3-get-records",
    ]
    assert [label for label, _ in two.labels()][3:] == [
        "boto3-get-records-1",
        "boto3-get-records-2",
        "boto3-get-records-3",
    ]
    for each in (one, two):
        assert (each.seconds, each.load.rate_per_s) == (600, 5)
        assert all(consumer.interval_ms == 200 for _, consumer in each.labels())


def test_found_by_name_by_file_name_and_by_path(tmp_path: Path) -> None:
    shipped = experiment.shipped()["round-1"]
    assert experiment.find("round-1") == shipped
    assert experiment.find("round-1.toml") == shipped
    assert experiment.find("experiments/round-1.toml") == shipped
    mine = written(tmp_path, GOOD)
    assert experiment.find(str(mine)) == mine


@pytest.mark.parametrize("name", ["round-3", "else/where/round-1.toml", "round-1.json", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ExperimentError, match=r"round-1, round-2"):
        experiment.find(name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seconds = 10", "seconds = 0", r"seconds: .*greater than 0; found 0"),
        ("seconds = 10", 'seconds = "10"', r"seconds: .*valid number; found '10'"),
        ("seconds = 10", "", r"seconds: Field required"),
        ("seconds = 10", "seconds = nan", r"seconds: .*; found nan"),
        ('"mine"', '"Mine!"', r"name: .*pattern.*; found 'Mine!'"),
        ("rate_per_s = 5", "rate_per_s = 5000", r"load.rate_per_s: .*1000; found 5000"),
        ("count = 2", "count = 2\nspeed = 1", r"consumers.0.speed: Extra inputs"),
        ("boto3-get-records", "kafka", r"consumers.0.kind: .*'lambda-efo'.*; found 'kafka'"),
        ("boto3-get-records", "lambda-efo", r"consumers.0.count: .*allowed is 1; found 2"),
        ("[[consumers]]", "[[", "not TOML"),
    ],
)
def test_a_bad_file_names_field_value_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(ExperimentError, match=said) as raised:
        experiment.load(written(tmp_path, GOOD.replace(old, new)))
    assert "experiment.toml" in str(raised.value)


def test_a_kind_written_twice_is_refused(tmp_path: Path) -> None:
    twice = GOOD + '[[consumers]]\nkind = "boto3-get-records"\n'
    with pytest.raises(ExperimentError, match="2 times; write it once, with a count"):
        experiment.load(written(tmp_path, twice))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match="not UTF-8"):
        experiment.load(path)
