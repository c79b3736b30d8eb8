"""The fixture in a project of its own, as a user has it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from shardlane_lab.local_lambda.errors import MappingError
from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.trial_options import split_options
from shardlane_lab.pytest_plugin import MappingTrials

PLUGIN = "shardlane_lab.pytest_plugin"

APP = """
import base64, json

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(base64.b64decode(record["kinesis"]["data"]))
        order["id"]
"""

TESTS = """
import app

def test_a_bad_order_is_given_up_alone(kinesis_mapping):
    trial = kinesis_mapping(
        app.handler, bisect_batch_on_function_error=True, maximum_retry_attempts=2
    )
    trial.put_all([({"id": 1}, "alice"), ("not JSON", "bob"), ({"id": 2}, "carol")])
    trial.settle()
    (message,) = trial.on_failure
    assert message["KinesisBatchInfo"]["batchSize"] == 1
    assert trial.handled().count('{"id": 2}') >= 1

def test_an_hour_passes_at_once(kinesis_mapping):
    trial = kinesis_mapping(app.handler, source="efo")
    trial.run(3600)
    assert trial.now_s == 3600

def test_it_can_fail(kinesis_mapping):
    trial = kinesis_mapping(app.handler)
    trial.put({"id": 1})
    trial.settle()
    assert trial.invocations == []
"""


def test_it_works_in_a_project_outside_this_one(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "test_app.py").write_text(TESTS, encoding="utf-8")
    installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
    named = ["-p", "no:hypothesispytest"] + ([] if installed else ["-p", PLUGIN])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert "test_it_can_fail" in done.stdout


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    """Every pytest run of an environment that has the lab loads it."""
    source = (
        f"import sys, {PLUGIN}\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in"
        " ('boto3', 'botocore', 'moto', 'matplotlib', 'asyncio')"
        " or name.startswith('shardlane_lab.local_')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.strip()
    assert "botocore" not in loaded
    assert "moto" not in loaded
    assert "shardlane_lab.local_" not in loaded


def test_an_unknown_option_lists_what_there_is(kinesis_mapping: MappingTrials) -> None:
    with pytest.raises(TypeError, match=r"unknown: batchsize; a mapping has batch_size, .*") as it:
        kinesis_mapping(lambda _event, _context: None, batchsize=3)
    assert "a trial has concurrency, " in str(it.value)


def test_a_parameter_outside_its_range_is_refused_as_in_a_template(
    kinesis_mapping: MappingTrials,
) -> None:
    with pytest.raises(MappingError, match="BatchSize is 0, allowed: 1 to 10000"):
        kinesis_mapping(lambda _event, _context: None, batch_size=0)


def test_a_whole_mapping_of_a_template_can_be_given_and_changed() -> None:
    config = MappingConfig(starting_position="LATEST", batch_size=7, maximum_retry_attempts=3)
    chosen, settings = split_options(config, {"maximum_retry_attempts": 4, "shards": 2})
    assert chosen == MappingConfig(
        starting_position="LATEST", batch_size=7, maximum_retry_attempts=4
    )
    assert settings.shards == 2


def test_two_trials_in_one_test_do_not_touch_one_another(kinesis_mapping: MappingTrials) -> None:
    one = kinesis_mapping(lambda _event, _context: None)
    two = kinesis_mapping(lambda _event, _context: None, source="efo")
    one.put("a")
    two.put("b")
    one.settle()
    two.settle()
    assert (one.handled(), two.handled()) == (["a"], ["b"])


def test_what_does_not_settle_in_time_says_why(kinesis_mapping: MappingTrials) -> None:
    def handler(_event: object, _context: object) -> None:
        raise RuntimeError("always")

    trial = kinesis_mapping(handler)
    trial.put("a")
    with pytest.raises(TimeoutError) as caught:
        trial.settle(60)
    said = str(caught.value)
    assert said.startswith("not settled within 60 s: shardId-000000000000; the last of ")
    assert "'errorMessage': 'always'" in said


def test_a_put_that_the_streams_limits_refuse_is_an_error(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(lambda _event, _context: None)
    with pytest.raises(RuntimeError, match="ProvisionedThroughputExceededException"):
        trial.put_all([("x", "k")] * 1001)
