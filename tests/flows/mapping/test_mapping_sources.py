"""How the two kinds of mapping read. Source: "Polling and batching streams", Lambda Developer
Guide; ``SubscribeToShard`` and "Quotas and limits", Kinesis Developer Guide."""

from __future__ import annotations

import random

import pytest

from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import succeed


def calls(trial: MappingTrial, name: str) -> list[float]:
    """When the service counted something, in seconds from the start of the trial."""
    times = [each.at_ms for each in trial.metrics if each.name == name]
    return [(at_ms - trial.epoch_ms) / 1000 for at_ms in times]


async def subscribe_as_someone_else(trial: MappingTrial) -> None:
    trial.client.subscribe(
        {
            "ConsumerARN": trial.consumer_arn,
            "ShardId": "shardId-000000000000",
            "StartingPosition": {"Type": "LATEST"},
        }
    )


def test_a_standard_mapping_polls_once_a_second(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed)
    trial.run(10.5)
    assert calls(trial, "GetRecords.Success") == pytest.approx([float(i) for i in range(11)])


def test_it_goes_on_at_once_while_there_is_more_within_the_shards_5_calls(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, batch_size=10_000, start_now=False)
    for _ in range(12):
        trial.put_all([("x" * 2000, "k")] * 500)
        trial.run(1)
    start_s = trial.now_s
    trial.start()
    trial.settle(30)
    # 6,000 records of 2,000 bytes: a call returns at most 10 MiB.
    polls = [at for at in calls(trial, "GetRecords.Success") if at >= start_s]
    assert polls[1] - polls[0] == pytest.approx(0.2)
    assert len(trial.handled()) == 6_000


def test_its_polls_count_against_the_shards_shared_calls(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed)
    trial.run(30)
    assert len(calls(trial, "GetRecords.Success")) == 31


def test_an_efo_mapping_makes_no_shared_calls(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed, source="efo")
    trial.put("a")
    trial.settle()
    trial.run(30)
    assert calls(trial, "GetRecords.Success") == []
    assert trial.handled() == ["a"]


def test_an_efo_mapping_subscribes_again_after_five_minutes_and_loses_nothing(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, source="efo")
    for i in range(70):
        trial.put(str(i))
        trial.run(10)
    trial.settle()
    assert trial.handled() == [str(i) for i in range(70)]
    assert calls(trial, "SubscribeToShard.Success") == pytest.approx([0, 300, 600])


def test_an_idle_efo_mapping_goes_on_where_it_was(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed, source="efo", starting_position="LATEST")
    trial.put("before")
    trial.run(298)
    trial.put("at the end")
    trial.run(10)
    trial.put("after")
    trial.settle()
    assert trial.handled() == ["before", "at the end", "after"]


def test_another_subscription_takes_over_and_is_taken_over_in_turn(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, source="efo")
    trial.run(10)
    trial.do(subscribe_as_someone_else(trial))
    trial.put("a")
    trial.settle(60)
    assert trial.handled() == ["a"]


def test_an_expired_iterator_is_replaced_after_the_last_record_read(
    kinesis_mapping: MappingTrials,
) -> None:
    """A batch that is worked on for longer than the five minutes of an iterator."""
    trial = kinesis_mapping(succeed, duration_s=400, timeout_s=900)
    trial.put("a")
    trial.run(2)
    trial.put("b")
    trial.settle()
    assert trial.handled() == ["a", "b"]


def test_measured_timing_has_the_fitted_mean_and_late_polls() -> None:
    timing, rng = PollTiming.measured(), random.Random(1)
    pauses = [timing.next_s(behind=False, rng=rng) for _ in range(20_000)]
    assert sum(pauses) / len(pauses) == pytest.approx(0.995 + 0.02 * 0.85, abs=0.005)
    assert sum(each > 1.3 for each in pauses) / len(pauses) == pytest.approx(0.014, abs=0.004)
    assert timing.next_s(behind=True, rng=rng) == timing.catch_up_s


def test_measured_timing_reproduces_the_published_delay_of_a_standard_function(
    kinesis_mapping: MappingTrials,
) -> None:
    """Published (Tokyo, one mapping, 5 records/s): p50 525 ms, p90 947 ms."""
    from shardlane_lab.local_kinesis.delays import Delays

    trial = kinesis_mapping(succeed, timing=PollTiming.measured(), delays=Delays.measured(), seed=3)
    for i in range(1000):
        trial.put(str(i))
        trial.run(0.13)
    trial.settle()
    delays_ms = sorted(
        trial.epoch_ms + each.at_s * 1000 - record["kinesis"]["approximateArrivalTimestamp"] * 1000
        for each in trial.invocations
        for record in each.records
    )
    assert delays_ms[len(delays_ms) // 2] == pytest.approx(525, rel=0.15)
    assert delays_ms[len(delays_ms) * 9 // 10] == pytest.approx(947, rel=0.15)
