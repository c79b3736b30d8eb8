from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from shardlane.consumer import EmbeddedMetricStats, Stats, StatsInMemory, Tuning
from shardlane.consumer.counters import Counters
from shardlane.consumer.settlement import Held
from shardlane.consumer.stats import ShardStats
from shardlane.errors import SettingsError
from shardlane_lab.local_aws.embedded_metrics import embedded_metrics
from shardlane_lab.metric import dimensions

NOW_MS = 1_780_000_000_000.4


def shard(name: str, **fields: Any) -> ShardStats:
    values: dict[str, Any] = {
        "shard_id": name,
        "lag_ms": 10.0,
        "behind_ms": 0,
        "oldest_sequence_number": None,
        "oldest_key": None,
        "unsettled": 0,
        "running": 0,
        "waiting": 0,
        "checkpoint": "TRIM_HORIZON",
        "checkpoint_age_ms": 0.0,
        "renewed_ms": 5.0,
    }
    return ShardStats(**(values | fields))


LATE = shard(
    "s2",
    lag_ms=7_000.0,
    behind_ms=3_000,
    oldest_sequence_number="42",
    oldest_key="alice",
    unsettled=12,
    checkpoint_age_ms=1_500.0,
)
STATS = Stats(
    counters=Counters(handled=100, records_read=120, retries=3, throttles=2, leases_lost=1),
    shards=(shard("s1", unsettled=1), LATE),
    channel_depth=8,
    keys_aside=1,
    held=(Held("s2", "42", 9, 0.0, "boom"),),
)


def lines(*reports: Stats, **options: Any) -> list[str]:
    found: list[str] = []
    sink = EmbeddedMetricStats("orders", "billing", write=found.append, **options)
    for each in reports:
        sink.take(each, NOW_MS)
    return found


def test_cloudwatch_takes_every_metric_of_a_line() -> None:
    (line,) = lines(STATS)
    found = {each.name: each for each in embedded_metrics(line)}
    declared = json.loads(line)["_aws"]["CloudWatchMetrics"][0]["Metrics"]
    assert len(found) == len(declared) == 20
    values = {name: each.values for name, each in found.items()}
    assert values["RecordsHandled"] == (100,)
    assert values["RecordsRead"] == (120,)
    assert values["Retries"] == (3,)
    assert values["Throttles"] == (2,)
    assert values["LeasesLost"] == (1,)
    assert values["Lag"] == (7_000,)
    assert values["MillisBehindLatest"] == (3_000,)
    assert values["CheckpointAge"] == (1_500,)
    assert values["ChannelDepth"] == (8,)
    assert values["OwnedShards"] == (2,)
    assert values["UnsettledRecords"] == (13,)
    assert values["KeysHeldUp"] == (1,)
    assert found["Lag"].unit == "Milliseconds"
    assert found["Lag"].namespace == "Shardlane"
    assert found["Lag"].at_ms == 1_780_000_000_000
    assert found["Lag"].dimensions == dimensions(StreamName="orders", Application="billing")


def test_counts_are_those_since_the_line_before() -> None:
    later = replace(STATS, counters=replace(STATS.counters, handled=130))
    restarted = replace(STATS, counters=Counters(handled=4))
    handled = [json.loads(line)["RecordsHandled"] for line in lines(STATS, later, restarted)]
    assert handled == [100, 30, 4]


def test_it_says_which_shard_is_the_latest_and_the_key_only_if_asked_to() -> None:
    (line,) = lines(STATS)
    assert json.loads(line)["LatestShard"] == "s2"
    assert json.loads(line)["OldestSequenceNumber"] == "42"
    assert "alice" not in line
    (line,) = lines(STATS, with_key=True)
    assert json.loads(line)["LatestKey"] == "alice"


def test_without_shards_the_line_says_so() -> None:
    (line,) = lines(replace(STATS, shards=(), held=()))
    document = json.loads(line)
    assert (document["OwnedShards"], document["Lag"], document["CheckpointAge"]) == (0, 0, 0)
    assert "LatestShard" not in document


def test_a_line_goes_to_stdout_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    EmbeddedMetricStats("orders", "billing").take(STATS, NOW_MS)
    (line,) = capsys.readouterr().out.splitlines()
    assert embedded_metrics(line)


@pytest.mark.parametrize(("stream", "application"), [("", "a"), ("s", ""), ("s", "ä")])
def test_a_dimension_that_cloudwatch_would_drop_is_refused(stream: str, application: str) -> None:
    with pytest.raises(SettingsError, match="allowed is ASCII text"):
        EmbeddedMetricStats(stream, application)


def test_in_memory_the_newest_are_kept() -> None:
    sink = StatsInMemory(most=2)
    assert sink.newest is None
    for number in range(3):
        sink.take(replace(STATS, channel_depth=number), NOW_MS + number)
    assert [stats.channel_depth for _, stats in sink.taken] == [1, 2]
    assert sink.newest is not None
    assert sink.newest.channel_depth == 2


def test_an_interval_that_makes_no_sense() -> None:
    with pytest.raises(SettingsError, match="report_s=0: allowed is more than 0 seconds"):
        Tuning(report_s=0)
