"""The workers' alarms on what the consumer's own sink writes: each goes off, and not before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardlane.consumer import EmbeddedMetricStats
from shardlane.consumer.counters import Counters
from shardlane.consumer.stats import Stats
from shardlane_lab.alarms.history import State
from shardlane_lab.alarms.template import WatchedMetric
from shardlane_lab.local_aws.embedded_metrics import embedded_data
from shardlane_lab.metric import Datum
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.worker import HELD, SHARD, WELL

START_MS = 1_780_000_020_000.0
BEFORE_MIN, MINUTES = 6, 16
HALF_DAY_MS = 12 * 3_600_000


def shard(**fields: float) -> Stats:
    return replace(WELL, shards=(replace(SHARD, **fields),))  # type: ignore[arg-type]


ILL: dict[str, tuple[Stats | None, int]] = {
    "silent": (None, 5),
    "late": (shard(lag_ms=60_001), 3),
    "losing": (shard(lag_ms=HALF_DAY_MS + 1), 3),
    "gaps": (replace(WELL, counters=Counters(gaps=1)), 1),
    "checkpoint-age": (shard(checkpoint_age_ms=300_001), 3),
    "held-up": (replace(WELL, held=(HELD,)), 3),
}
"""Alarm → what a worker says from the fault on (``None``: nothing), and after how many minutes."""


@pytest.fixture(scope="module")
def alarms(otherwise: CloudAssembly) -> dict[str, WatchedMetric]:
    found = (each.properties for each in otherwise.of_type("AWS::CloudWatch::Alarm"))
    prefix = "order-keeper-"
    return {
        each["AlarmName"].removeprefix(prefix): WatchedMetric.of(each)
        for each in found
        if each["AlarmName"].startswith(prefix)
    }


def told(ill: Stats | None) -> list[Datum]:
    """A line a minute: well at first, then ill."""
    lines: list[str] = []
    sink = EmbeddedMetricStats("order-events", "order-keeper", write=lines.append)
    for minute in range(MINUTES):
        stats = WELL if minute < BEFORE_MIN else ill
        if stats is not None:
            sink.take(stats, START_MS + minute * 60_000 + 100)
    return [datum for line in lines for datum in embedded_data(line)]


def test_there_is_one_alarm_for_each_fault(alarms: dict[str, WatchedMetric]) -> None:
    assert set(alarms) == set(ILL)


def test_no_worker_no_alarm(dev: CloudAssembly) -> None:
    names = [each.properties["AlarmName"] for each in dev.of_type("AWS::CloudWatch::Alarm")]
    assert not [name for name in names if name.endswith(("-silent", "-held-up", "-gaps"))]


@pytest.mark.parametrize("what", sorted(ILL))
def test_it_goes_off_and_not_before(what: str, alarms: dict[str, WatchedMetric]) -> None:
    ill, after_min = ILL[what]
    states = alarms[what].history(told(ill), START_MS, MINUTES)
    assert states.index(State.ALARM) == BEFORE_MIN + after_min - 1


@pytest.mark.parametrize("what", sorted(ILL))
def test_a_worker_that_is_well_raises_nothing(what: str, alarms: dict[str, WatchedMetric]) -> None:
    states = alarms[what].history(told(WELL), START_MS, MINUTES)
    assert State.ALARM not in states
    assert states[-1] is State.OK
