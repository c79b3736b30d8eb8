"""Shards that split and merge. Source: "Resharding a stream", Kinesis Developer Guide; a mapping
processes a parent before its children ("Polling and batching streams", Lambda Developer Guide)."""

from __future__ import annotations

from shardlane_lab.local_lambda.checkpoint import ShardEnd
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import first_time, succeed

MIDDLE = str(2**127)
LEFT, RIGHT = "0", str(2**128 - 1)
FIRST = "shardId-000000000000"


def split(trial: MappingTrial) -> None:
    trial.kinesis("SplitShard", ShardToSplit=FIRST, NewStartingHashKey=MIDDLE)


def test_children_start_when_everything_in_the_parent_is_settled(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(
        first_time(RuntimeError("once")), source=source, duration_s=5, timeout_s=9, batch_size=2
    )
    for text in "abc":
        trial.put(text)
    split(trial)
    trial.put("left", hash_key=LEFT)
    trial.put("right", hash_key=RIGHT)
    trial.settle()
    parents = [each for each in trial.invocations if FIRST in each.records[0]["eventID"]]
    children = [each for each in trial.invocations if each not in parents]
    assert {*trial.handled()} == {"a", "b", "c", "left", "right"}
    assert len(children) == 2
    assert min(each.at_s for each in children) >= max(each.at_s for each in parents) + 5
    assert trial.checkpoints[FIRST] == ShardEnd()


def test_a_child_starts_at_its_beginning_although_the_mapping_started_at_latest(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    """Anything else loses what was written before the child was found."""
    trial = kinesis_mapping(
        succeed, source=source, starting_position="LATEST", duration_s=20, timeout_s=60
    )
    trial.put("a")
    trial.run(1.5)
    split(trial)
    for i in range(3):
        trial.put(str(i), hash_key=LEFT)
    trial.settle()
    assert trial.handled() == ["a", "0", "1", "2"]


def test_the_child_of_a_merge_waits_for_both_parents(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(
        succeed,
        source=source,
        shards=2,
        timeout_s=60,
        duration_s=lambda event: 40.0 if len(event["Records"]) == 2 else 1.0,
    )
    for _ in range(2):
        trial.put("slow", hash_key=LEFT)
    trial.put("quick", hash_key=RIGHT)
    trial.kinesis("MergeShards", ShardToMerge=FIRST, AdjacentShardToMerge="shardId-000000000001")
    trial.put("child", hash_key=LEFT)
    trial.settle()
    ends = [at for each in trial.invocations for at in [each.at_s] if each.records]
    assert trial.handled()[-1] == "child"
    slow = [e for e in trial.invocations if e.records[0]["eventID"].startswith(FIRST)]
    lasted = 40.0 if len(slow[0].records) == 2 else 1.0
    assert ends[-1] >= slow[0].at_s + lasted


def test_at_latest_a_closed_shard_is_not_read(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(succeed, source=source, starting_position="LATEST", start_now=False)
    trial.put("old")
    split(trial)
    trial.run(5)
    trial.start()
    trial.put("new", hash_key=LEFT)
    trial.run(3)
    assert trial.handled() == ["new"]


def test_at_trim_horizon_a_closed_shard_is_read_first(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, start_now=False)
    trial.put("old")
    split(trial)
    trial.put("new", hash_key=LEFT)
    trial.run(5)
    trial.start()
    trial.settle()
    assert trial.handled() == ["old", "new"]


def test_a_finished_parent_is_not_read_again_after_a_restart(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source)
    trial.put("a")
    split(trial)
    trial.put("b", hash_key=LEFT)
    trial.settle()
    trial.stop()
    trial.put("c", hash_key=LEFT)
    trial.start()
    trial.settle()
    assert trial.handled() == ["a", "b", "c"]


def test_a_parent_that_the_stream_has_forgotten_does_not_hold_up_its_child(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, start_now=False)
    split(trial)
    trial.run(2 * 86_400)
    trial.put("b", hash_key=LEFT)
    trial.start()
    trial.settle(60)
    assert trial.handled() == ["b"]


def test_split_and_merge_again_and_again_keeps_every_record_in_the_order_of_its_key(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, duration_s=0.3)
    sent = []
    shards = [FIRST]
    for turn in range(4):
        sent += [(f"k{i} {turn}", f"k{i}") for i in range(8)]
        trial.put_all(sent[-8:])
        trial.run(0.4)
        if turn % 2 == 0:
            trial.kinesis("SplitShard", ShardToSplit=shards[0], NewStartingHashKey=MIDDLE)
            shards = [f"shardId-{len(sent) // 8 * 3 // 2 + i:012d}" for i in (0, 1)]
        else:
            trial.kinesis("MergeShards", ShardToMerge=shards[0], AdjacentShardToMerge=shards[1])
            shards = [f"shardId-{(turn // 2 + 1) * 3:012d}"]
    trial.settle()
    assert sorted(trial.handled()) == sorted(text for text, _ in sent)
    for i in range(8):
        mine = [text for text in trial.handled() if text.startswith(f"k{i} ")]
        assert mine == [f"k{i} {turn}" for turn in range(4)]


def test_every_page_of_the_stream_is_read(kinesis_mapping: MappingTrials) -> None:
    """ListShards shows 1,000 shards at a time."""
    trial = kinesis_mapping(succeed, shards=1001)
    trial.put("last", hash_key=str(2**128 - 1))
    trial.settle()
    assert trial.handled() == ["last"]
