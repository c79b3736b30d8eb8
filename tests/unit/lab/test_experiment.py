"""Experiment files: what ships loads, what is wrong is named."""

from pathlib import Path

import pytest

from shardlane_lab import experiment_file
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


@pytest.mark.parametrize("name", experiment_file.shipped())
def test_every_shipped_experiment_loads_and_is_named_like_its_file(name: str) -> None:
    assert experiment_file.load(experiment_file.find(name)).name == name


def test_rounds_are_the_published_ones() -> None:
    one, two = (experiment_file.load(experiment_file.find(name)) for name in ("round-1", "round-2"))
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
    shipped = experiment_file.shipped()["round-1"]
    assert experiment_file.find("round-1") == shipped
    assert experiment_file.find("round-1.toml") == shipped
    assert experiment_file.find("experiments/round-1.toml") == shipped
    mine = written(tmp_path, GOOD)
    assert experiment_file.find(str(mine)) == mine


@pytest.mark.parametrize("name", ["round-3", "else/where/round-1.toml", "round-1.json", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ExperimentError, match=r"round-1, round-2"):
        experiment_file.find(name)


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
        ("count = 2", "count = 51", r"consumers.0.count: .*50; found 51"),
        ("count = 2", "workers = 2", r"consumers.0: workers of boto3-get-records is 2; allowed"),
        ('"boto3-get-records"', '"lambda-efo"\ninterval_ms = 5', r"interval_ms is for boto3-get"),
        (
            "rate_per_s = 5",
            "rate_per_s = 5\nkees = 1",
            r"load.kees: .*allowed: .*, keys, .*found 1",
        ),
        ("seconds = 10", "seconds = 10\nspeed = 1", r" speed: .*allowed: .*variants; found 1"),
        ("rate_per_s = 5", "rate_per_s = 5\nhot_key_share = 2", r"hot_key_share: .*1; found 2"),
        (
            "rate_per_s = 5",
            "rate_per_s = 5\n[[load.steps]]\nat_s = 10\nrate_per_s = 1",
            r"load.steps: at_s is 10; allowed is less than seconds, 10",
        ),
        ("[[consumers]]", "[mapping]\nbatch_size = 0\n[[consumers]]", r"batch_size: .*; found 0"),
        (
            "[[consumers]]",
            "[[reshards]]\nat_s = 1\nshards = 3\n[[consumers]]",
            r"reshards: shards is 3; allowed from 1 shards is 1 to 2",
        ),
        (
            "[[consumers]]",
            "[[faults]]\nkind = 'throttle'\nfrom_s = 5\nuntil_s = 5\n[[consumers]]",
            r"faults.0: until_s is 5; allowed is more than from_s",
        ),
        (
            "[[consumers]]",
            "[[faults]]\nkind = 'silence'\noperation = 'GetRecords'\n[[consumers]]",
            r"faults.0: .*GetRecords",
        ),
        ("[[consumers]]", "[[faults]]\nkind = 'fire'\n[[consumers]]", r"faults.0.kind: .*'fire'"),
        ("[[consumers]]", "[[", "not TOML"),
    ],
)
def test_a_bad_file_names_field_value_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(ExperimentError, match=said) as raised:
        experiment_file.load(written(tmp_path, GOOD.replace(old, new)))
    assert "experiment.toml" in str(raised.value)


def test_a_kind_written_twice_is_refused(tmp_path: Path) -> None:
    twice = GOOD + '[[consumers]]\nkind = "boto3-get-records"\n'
    with pytest.raises(ExperimentError, match="2 times; write it once, with a count"):
        experiment_file.load(written(tmp_path, twice))


VARIANTS = (
    GOOD
    + """
[[variants]]
name = "slow"
load.handle_ms = 100

[[variants]]
name = "pushed"
title = "By EFO"
consumers = [{ kind = "lambda-efo" }]
"""
)


def test_a_variant_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    study = experiment_file.load_study(written(tmp_path, VARIANTS))
    assert [each.name for each in study.variants] == ["slow", "pushed"]
    slow, pushed = (each.experiment for each in study.variants)
    assert (slow.name, slow.title) == ("mine-slow", "Mine: slow")
    assert (slow.load.handle_ms, slow.load.rate_per_s, len(slow.labels())) == (100, 5, 2)
    assert (pushed.name, pushed.title) == ("mine-pushed", "Mine: By EFO")
    assert [label for label, _ in pushed.labels()] == ["lambda-efo"]
    assert experiment_file.load(written(tmp_path, VARIANTS)).load.handle_ms == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "slow"', 'name = "Slow"', r"variants.0.name: .*; found 'Slow'"),
        ('name = "slow"', "", r"variants.0.name: .*; found None"),
        ('name = "slow"', 'name = "pushed"', r"variants.1.name: 'pushed' stands there twice"),
        ("handle_ms = 100", "handle_ms = -1", r"variants.slow.load.handle_ms: .*; found -1"),
        ("load.handle_ms", "loud.handle_ms", r"variants.slow.loud: .*allowed: .*, load, "),
        ("lambda-efo", "kafka", r"variants.pushed.consumers.0.kind: .*; found 'kafka'"),
    ],
)
def test_a_bad_variant_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=said):
        experiment_file.load_study(written(tmp_path, VARIANTS.replace(old, new)))


def test_variants_have_to_be_tables(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"variants: allowed are tables"):
        experiment_file.load_study(written(tmp_path, "variants = 3\n" + GOOD))


def test_a_shorter_run_keeps_its_course() -> None:
    whole = experiment_file.load(experiment_file.find("outage"))
    short = whole.shortened(whole.seconds / 10)
    assert short.outages[0].at_s == pytest.approx(whole.outages[0].at_s / 10)
    assert short.outages[0].seconds == pytest.approx(whole.outages[0].seconds / 10)
    assert short.load == whole.load
    assert [label for label, _ in short.labels()] == [label for label, _ in whole.labels()]


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match="not UTF-8"):
        experiment_file.load(path)
