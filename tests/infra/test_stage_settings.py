from __future__ import annotations

import json
from typing import Any

import pytest

from stacks.setting_rules import SettingsError
from stacks.settings import StageSettings, stage_settings
from stacks.synth import ROOT

EXISTING = "arn:aws:kinesis:eu-west-1:111122223333:stream/old-orders"


def _dev(values: object) -> StageSettings:
    return stage_settings("dev", {"dev": values, "prod": {}})


def _refusal(values: object) -> str:
    with pytest.raises(SettingsError) as refused:
        _dev(values)
    return str(refused.value)


def test_what_a_stage_leaves_out_has_its_default() -> None:
    assert _dev({}) == StageSettings(stage="dev")
    changed = _dev({"efo": {"mapping": {"batch_size": 7}}})
    assert changed.efo.mapping.batch_size == 7
    assert changed.efo.mapping.retry_attempts == StageSettings().efo.mapping.retry_attempts
    assert changed.efo.function_name == "order-latency-efo"
    assert changed.standard == StageSettings().standard


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_stages_of_cdk_json_are_valid(stage: str) -> None:
    context = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    settings = stage_settings(stage, context["stages"])
    assert settings.stage == stage
    assert (settings.removal == "retain") is (stage == "prod")


def test_an_unknown_stage_names_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"stage is 'qa'; allowed: dev, prod"):
        stage_settings("qa", {"prod": {}, "dev": {}})


@pytest.mark.parametrize("stages", [None, "dev", ["dev"]])
def test_stages_have_to_be_an_object(stages: object) -> None:
    with pytest.raises(SettingsError, match=r'context "stages" is .*; allowed: an object'):
        stage_settings("dev", stages)


def test_a_stages_name_has_to_fit_into_stack_names() -> None:
    with pytest.raises(SettingsError, match=r"stage is 'My Stage'; allowed: 1 to 16 lower-case"):
        stage_settings("My Stage", {"My Stage": {}})


def test_an_unknown_key_names_itself_its_value_and_the_known_ones() -> None:
    refusal = _refusal({"efo": {"mapping": {"batchsize": 5}}})
    assert refusal.startswith("stages.dev.efo.mapping.batchsize (value 5) is not a setting;")
    assert "batch_size, batching_window_s, bisect_on_error" in refusal


def test_the_stages_name_is_no_setting() -> None:
    assert _refusal({"stage": "prod"}).startswith("stages.dev.stage (value 'prod') is not a")


@pytest.mark.parametrize("values", [None, 5, [], "removal=retain"])
def test_a_stage_has_to_be_an_object(values: object) -> None:
    assert _refusal(values).startswith(f"stages.dev is {values!r}; allowed: an object with")


def test_a_nested_group_has_to_be_an_object() -> None:
    assert _refusal({"efo": 5}).startswith("stages.dev.efo is 5; allowed: an object with")


MAPPING_RANGES = {
    "batch_size": (1, 10_000),
    "batching_window_s": (0, 300),
    "parallelization_factor": (1, 10),
    "retry_attempts": (0, 10_000),
    "max_record_age_s": (60, 604_800),
}


@pytest.mark.parametrize(("key", "low", "high"), [(k, *v) for k, v in MAPPING_RANGES.items()])
def test_the_services_ranges_of_a_mapping(key: str, low: int, high: int) -> None:
    for inside in (low, high):
        mapping = _dev({"standard": {"mapping": {key: inside}}}).standard.mapping
        assert getattr(mapping, key) == inside
    for outside in (low - 1, high + 1):
        assert _refusal({"standard": {"mapping": {key: outside}}}) == (
            f"stages.dev.standard.mapping.{key} is {outside}; "
            f"allowed: a whole number from {low} to {high}"
        )


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("shard_count", True, "a whole number from 1 to 10000"),
        ("shard_count", 1.0, "a whole number from 1 to 10000"),
        ("shard_count", "2", "a whole number from 1 to 10000"),
        ("shard_count", 0, "a whole number from 1 to 10000"),
        ("stream_retention_hours", 23, "a whole number from 24 to 8760"),
        ("removal", "keep", "one of 'destroy', 'retain'"),
        ("stream_name", "order events", "1 to 128 of the characters"),
        ("stream_name", "x" * 129, "1 to 128 of the characters"),
        ("stream_arn", "old-orders", "a stream's ARN"),
        ("stream_arn", None, "a stream's ARN"),
        ("stream_arn", f"{EXISTING}/consumer/c:1", "a stream's ARN"),
        ("log_retention_days", 8, "one of 1, 3, 5, 7, 14"),
        ("log_retention_days", True, "one of 1, 3, 5, 7, 14"),
        ("policy", "retry", "one of 'park', 'stop', 'drop'"),
        ("key_arn", "alias/orders", "a key's ARN"),
        ("alarm_email", "orders", "an e-mail address"),
        ("redrive_every_min", 0, "a whole number from 1 to 1440"),
        ("metrics_namespace", "AWS/Lambda", "not starting with AWS/"),
        (
            "tags",
            {"aws:cloudformation": "x"},
            'keys of 1 to 128 characters not starting with "aws:"',
        ),
        ("tags", {"cost": 42}, "an object of texts"),
        ("tags", ["cost"], "an object of texts"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_what_is(
    key: str, value: Any, allowed: str
) -> None:
    refusal = _refusal({key: value})
    assert refusal.startswith(f"stages.dev.{key} is {value!r}; allowed: ")
    assert allowed in refusal


@pytest.mark.parametrize("value", [0, "yes", None])
def test_a_flag_is_true_or_false(value: object) -> None:
    refusal = _refusal({"efo": {"log_keys": value}})
    assert refusal == f"stages.dev.efo.log_keys is {value!r}; allowed: true or false"


def test_the_name_of_an_existing_stream_is_in_its_arn() -> None:
    assert _dev({"stream_arn": EXISTING}).read_stream_name == "old-orders"
    assert _dev({"stream_name": "orders"}).read_stream_name == "orders"


@pytest.mark.parametrize(
    ("key", "value"),
    [("stream_name", "orders"), ("shard_count", 2), ("stream_retention_hours", 48)],
)
def test_an_existing_stream_is_not_shaped_from_here(key: str, value: object) -> None:
    refusal = _refusal({"stream_arn": EXISTING, key: value})
    assert refusal.startswith(f"stages.dev.{key} is {value!r}, but stages.dev.stream_arn attaches")


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"efo": {"function_name": "order-latency-standard"}}, "efo.function_name"),
        ({"boto3_efo_consumer_name": "order-events-lambda-efo"}, "boto3_efo_consumer_name"),
    ],
)
def test_counterparts_need_names_of_their_own(values: dict[str, Any], key: str) -> None:
    assert _refusal(values).startswith(f"stages.dev.{key} is ")


def test_a_schedule_to_redrive_needs_something_parked() -> None:
    refusal = _refusal({"redrive_every_min": 5, "policy": "stop"})
    assert refusal.startswith("stages.dev.redrive_every_min is 5, but stages.dev.policy is 'stop'")


def test_a_redrive_has_to_outlast_its_consumer() -> None:
    refusal = _refusal({"redrive_every_min": 5, "efo": {"timeout_s": 871}})
    assert refusal.startswith("stages.dev.efo.timeout_s is 871 with stages.dev.redrive_every_min")
    assert "allowed: up to 870" in refusal
