"""SubscribeToShard per consumer and minute."""

from __future__ import annotations

from shardlane_lab.metric import Datum, dimensions, per_minute
from shardlane_lab.published import published_round
from shardlane_lab.report.subscription import subscriptions
from shardlane_lab.run_record import Run
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, START_MS, record

WHERE = dimensions(StreamName="order-events", ConsumerName="registered-efo")


def datum(name: str, minute: int, value: float) -> Datum:
    return Datum("AWS/Kinesis", name, WHERE, value, START_MS + minute * 60_000)


def test_successes_refusals_and_lag_are_kept_by_minute() -> None:
    data = [
        datum("SubscribeToShard.Success", 0, 1),
        datum("SubscribeToShard.Success", 5, 1),
        datum("SubscribeToShard.Success", 6, 0),
        datum("SubscribeToShard.RateExceeded", 5, 2),
        datum("SubscribeToShardEvent.MillisBehindLatest", 1, 0),
        datum("SubscribeToShardEvent.MillisBehindLatest", 1, 340),
    ]
    run = Run(record(FAN_OUT, POLLER), [], per_minute(data, START_MS))
    (found,) = subscriptions(run, published_round("1"))
    assert found.label == "lambda-efo"
    assert found.successes == {0: 1, 5: 1}
    assert found.refusals == {5: 2}
    assert found.behind_latest_max_ms == {1: 340}
    assert found.total_successes == 2
    assert (found.total_refusals.value, found.total_refusals.published) == (2, 0)
    assert (found.furthest_behind.value, found.furthest_behind.published) == (340, 0)


def test_without_metrics_nothing_is_claimed() -> None:
    assert subscriptions(Run(record(FAN_OUT), [], []), published_round("1")) == ()
