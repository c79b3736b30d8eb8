"""Concurrent batches of one shard. Source: "ParallelizationFactor", Lambda Developer Guide:
records of one partition key stay in order."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from shardlane_lab.local_lambda.checkpoint import After
from shardlane_lab.local_lambda.shard_intake import slice_of
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import Event, numbers, poison, succeed

KEYS = [f"key-{i}" for i in range(37)]
SHARD = "shardId-000000000000"


def most_at_once(trial: MappingTrial, duration_s: float) -> int:
    starts = [each.at_s for each in trial.invocations]
    return max(sum(0 <= at - each < duration_s for each in starts) for at in starts)


def test_up_to_factor_batches_of_a_shard_run_at_once(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(
        succeed, source=source, parallelization_factor=4, batch_size=5, duration_s=2, timeout_s=9
    )
    trial.put_all([(f"{key} {i}", key) for i in range(3) for key in KEYS])
    trial.settle()
    assert most_at_once(trial, 2) == 4
    assert sorted(trial.handled()) == sorted(f"{key} {i}" for i in range(3) for key in KEYS)


def uneven(event: Event) -> float:
    """Seconds; so that slices do not run in step, which would keep any order by accident."""
    return 0.5 + int(numbers(event)[0][-8:]) % 7 * 0.4


def test_a_key_is_never_in_two_batches_at_once_and_keeps_its_order(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(
        succeed,
        source=source,
        parallelization_factor=10,
        batch_size=3,
        duration_s=uneven,
        timeout_s=9,
    )
    trial.put_all([(f"{key} {i}", key) for i in range(5) for key in KEYS])
    trial.settle()
    spans = defaultdict(list)
    for each in sorted(trial.invocations, key=lambda each: each.at_s):
        end_s = each.at_s + each.result.duration_ms / 1000
        for key in {record["kinesis"]["partitionKey"] for record in each.records}:
            spans[key].append((each.at_s, end_s))
    for of_key in spans.values():
        assert all(after[0] >= before[1] - 1e-6 for before, after in pairwise(of_key))
    for key in KEYS:
        assert [text for text in trial.handled() if text.split()[0] == key] == [
            f"{key} {i}" for i in range(5)
        ]


def test_a_stuck_slice_does_not_hold_up_the_others_but_holds_the_checkpoint(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    stuck = KEYS[0]
    others = [key for key in KEYS if slice_of(key, 2) != slice_of(stuck, 2)]
    trial = kinesis_mapping(poison("bad"), source=source, parallelization_factor=2)
    before = trial.put("fine", stuck)
    trial.run(2)
    trial.put("bad", stuck)
    trial.put_all([(f"good {key}", key) for key in others])
    trial.run(30)
    assert {f"good {key}" for key in others} <= set(trial.handled())
    assert trial.checkpoints[SHARD] == After(before)


def test_a_restart_reads_again_from_the_lowest_unfinished_record(
    kinesis_mapping: MappingTrials,
) -> None:
    """A checkpoint never passes an unfinished record, whatever the order of the slices."""
    stuck = KEYS[0]
    other = next(key for key in KEYS if slice_of(key, 2) != slice_of(stuck, 2))
    trial = kinesis_mapping(poison("bad"), parallelization_factor=2)
    trial.put_all([("bad", stuck), ("good", other)])
    trial.run(10)
    assert trial.handled().count("good") == 1
    trial.stop()
    trial.start()
    trial.run(10)
    assert trial.handled().count("good") == 2


def test_the_reader_waits_when_a_stuck_slice_fills_the_memory(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison("bad"), source="efo", parallelization_factor=2)
    trial.put("bad", KEYS[0])
    for _ in range(24):
        trial.put_all([("x", KEYS[0])] * 500)
        trial.run(1)
    polled = sum(trial.metric("PolledEventCount"))
    # The event that crosses the bound is taken whole.
    assert 10_000 <= polled <= 10_500
