"""Reads, throttles and iterator ages per minute."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.metric import Datum, MinuteStatistic, dimensions, per_minute
from shardlane_lab.published import NOTHING_PUBLISHED, published_round
from shardlane_lab.report.minutes import Minutes, lasted_seconds, minutes
from shardlane_lab.run_record import Run
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, STANDARD, START_MS, record, sample

STREAM = dimensions(StreamName="order-events")
THROTTLE = "ReadProvisionedThroughputExceeded"


def datum(name: str, at_s: float, value: float = 1.0, **named: str) -> Datum:
    namespace = "AWS/Lambda" if named else "AWS/Kinesis"
    where = dimensions(**named) if named else STREAM
    return Datum(namespace, name, where, value, START_MS + at_s * 1000)


def rows(*data: Datum) -> list[MinuteStatistic]:
    return per_minute(data, START_MS)


def found(statistics: list[MinuteStatistic], **changes: Any) -> Minutes:
    run = Run(record(STANDARD, FAN_OUT, POLLER, **changes), [], statistics)
    result = minutes(run, published_round("1"))
    assert result is not None
    return result


def test_no_metrics_are_unknown_and_not_zero() -> None:
    assert minutes(Run(record(), [], []), NOTHING_PUBLISHED) is None


def test_a_count_that_did_not_occur_is_zero_and_an_age_unknown() -> None:
    data = rows(datum("GetRecords.Success", 1), datum(THROTTLE, 61, 4), datum(THROTTLE, 62))
    first, second = found(data, seconds=120.0).each
    assert (first.successful, first.throttled) == (1, 0)
    assert (second.successful, second.throttled) == (0, 5)
    assert first.iterator_age_ms == {"lambda-standard": None, "lambda-efo": None}


def test_other_streams_and_functions_are_not_counted() -> None:
    data = rows(
        datum("GetRecords.Success", 1),
        datum("GetRecords.Success", 1, 50, StreamName="another"),
        datum("IteratorAge", 1, 900, FunctionName="standard"),
        datum("IteratorAge", 2, 1000, FunctionName="standard"),
        datum("IteratorAge", 2, 7, FunctionName="another"),
    )
    (minute,) = found(data, seconds=60.0).each
    assert minute.successful == 1
    assert minute.iterator_age_ms == {"lambda-standard": 950, "lambda-efo": None}


def test_ranges_are_of_whole_minutes_beside_the_middle_of_the_published_range() -> None:
    data = rows(*(datum(THROTTLE, 60 * minute, count) for minute, count in enumerate([10, 20, 99])))
    result = found(data, seconds=150.0)
    assert [minute.whole for minute in result.each] == [True, True, False]
    throttled = result.ranges[0]
    assert (throttled.lowest, throttled.highest, throttled.mean.value) == (10, 20, 15)
    assert throttled.published == (12, 24)
    assert throttled.mean.ratio == 15 / 18
    assert not throttled.scaled


def test_a_run_under_a_minute_is_scaled_up_and_says_so() -> None:
    data = rows(
        datum("GetRecords.Success", 1, 150),
        datum("IteratorAge", 1, 900, FunctionName="standard"),
    )
    throttled, successful, age, _ = found(data, seconds=30.0).ranges
    assert (successful.mean.value, successful.scaled) == (300, True)
    assert throttled.mean.value == 0
    assert (age.mean.value, age.scaled) == (900, False)


def test_reads_after_the_last_send_do_not_inflate_a_short_run() -> None:
    statistics = rows(datum("GetRecords.Success", 1, 160))
    last = sample(0, recv_ms=START_MS + 32_000)
    run = Run(record(seconds=30.0), [last], statistics)
    result = minutes(run, NOTHING_PUBLISHED)
    assert result is not None
    assert result.ranges[1].mean.value == 300


def test_iterator_age_of_a_standard_mapping_is_predicted_and_of_fan_out_calibrated() -> None:
    data = rows(datum("GetRecords.Success", 1))
    bases = {each.metric: each.mean.basis for each in found(data).ranges}
    assert bases["IteratorAge lambda-standard, ms"] == "predicted"
    assert bases["IteratorAge lambda-efo, ms"] == "calibrated"
    assert bases["Throttled GetRecords"] == "predicted"


@pytest.mark.parametrize(("complete", "expected"), [(True, 600.0), (False, 5.15)])
def test_a_run_that_was_stopped_lasted_until_its_last_sample(
    complete: bool, expected: float
) -> None:
    run = Run(record(complete=complete), [sample(5), sample(2)], [])
    assert lasted_seconds(run) == pytest.approx(expected)
