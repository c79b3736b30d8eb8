"""Filters. Source: "Using event filtering with a Kinesis event source", Lambda Developer Guide."""

from __future__ import annotations

import json

from shardlane_lab.local_lambda.checkpoint import After
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import poison, succeed

CITY = json.dumps({"data": {"city": ["Seattle"]}})


def test_only_records_that_match_reach_the_function(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, filters=(CITY,))
    trial.put_all([({"city": each}, "k") for each in ("Seattle", "Oslo", "Seattle")])
    trial.settle()
    assert trial.handled() == ['{"city": "Seattle"}'] * 2


def test_a_record_passes_if_it_matches_any_filter(kinesis_mapping: MappingTrials) -> None:
    key = json.dumps({"partitionKey": ["vip"]})
    trial = kinesis_mapping(succeed, filters=(CITY, key))
    trial.put_all([({"city": "Oslo"}, "vip"), ({"city": "Oslo"}, "k"), ("not JSON", "vip")])
    trial.settle()
    assert trial.handled() == ['{"city": "Oslo"}', "not JSON"]


def test_a_data_pattern_drops_what_is_not_json(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed, filters=(CITY,))
    trial.put_all([("Seattle", "k"), (b"\xff\xfe", "k")])
    trial.settle()
    assert trial.handled() == []
    assert sum(trial.metric("FilteredOutEventCount")) == 2


def test_the_checkpoint_moves_past_what_was_filtered_out(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, filters=(CITY,))
    number = trial.put({"city": "Oslo"})
    trial.settle()
    assert trial.checkpoints["shardId-000000000000"] == After(number)


def test_the_checkpoint_does_not_move_past_an_unfinished_record_before_it(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison('{"city": "Seattle"}'), filters=(CITY,))
    trial.put_all([({"city": "Seattle"}, "k"), ({"city": "Oslo"}, "k")])
    trial.run(30)
    assert trial.checkpoints == {}


def test_filtered_records_do_not_fill_a_batch(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed, filters=(CITY,), batch_size=2, maximum_batching_window_s=60)
    trial.put_all([({"city": each}, "k") for each in ("Oslo", "Oslo", "Seattle")])
    trial.run(30)
    assert trial.invocations == []
    trial.put({"city": "Seattle"})
    trial.run(2)
    assert [len(each.records) for each in trial.invocations] == [2]
