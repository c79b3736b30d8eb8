"""Medians of runs that are reported together."""

from __future__ import annotations

from collections.abc import Mapping

from shardlane_lab.report.difference import median_differences
from shardlane_lab.report.summary import Summary, summarise
from shardlane_lab.report.tables import differences_table
from shardlane_lab.run_record import ConsumerRecord
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, run, sample

OTHERS = tuple(
    ConsumerRecord(label=f"boto3-get-records-{number}", kind="boto3-get-records")
    for number in (1, 2)
)


def summarised(latencies_ms: Mapping[str, float], *consumers: ConsumerRecord) -> Summary:
    samples = [
        sample(seq, latency_ms + seq, label=label)
        for label, latency_ms in latencies_ms.items()
        for seq in range(101)
    ]
    return summarise(run(samples, *consumers))


def test_a_single_run_has_no_differences() -> None:
    assert median_differences([summarised({"lambda-efo": 50}, FAN_OUT)]) == ()


def test_labels_match_and_kinds_stand_in_where_labels_do_not() -> None:
    first = summarised({"lambda-efo": 50, "boto3-get-records": 100}, FAN_OUT, POLLER)
    latencies_ms = {"lambda-efo": 51, "boto3-get-records-1": 700, "boto3-get-records-2": 800}
    second = summarised(latencies_ms, FAN_OUT, *OTHERS)
    fan_out, pollers = median_differences([first, second])
    assert (fan_out.name, fan_out.medians_ms) == ("lambda-efo", (100, 101))
    assert fan_out.clear == (False,)
    assert (pollers.name, pollers.medians_ms) == ("all boto3-get-records", (150, 800))
    assert (pollers.from_first_ms, pollers.ratios_to_first) == ((650,), (800 / 150,))
    assert pollers.clear == (True,)


def test_a_kind_that_only_one_run_has_is_shown_without_a_difference() -> None:
    first = summarised({"lambda-efo": 50}, FAN_OUT)
    second = summarised({"lambda-efo": 50, "boto3-get-records": 100}, FAN_OUT, POLLER)
    only = median_differences([first, second])[1]
    assert only.medians_ms == (None, 150)
    assert (only.from_first_ms, only.clear) == ((None,), (None,))


def test_a_consumer_that_was_silent_in_one_run_is_no_reason_to_pool() -> None:
    first = summarised({"lambda-efo": 50}, FAN_OUT)
    (row,) = median_differences([first, summarised({}, FAN_OUT)])
    assert (row.name, row.medians_ms) == ("lambda-efo", (100, None))


def test_every_later_run_is_set_against_the_first() -> None:
    runs = [summarised({"lambda-efo": latency}, FAN_OUT) for latency in (50, 60, 45)]
    (row,) = median_differences(runs)
    assert row.from_first_ms == (10, -5)


def test_many_runs_stand_under_each_other_consumer_by_consumer() -> None:
    runs = [
        summarised({"lambda-efo": latency, "boto3-get-records": 100}, FAN_OUT, POLLER)
        for latency in (50, 60)
    ]
    runs += [summarised({"lambda-efo": 45}, FAN_OUT)]
    table = differences_table(runs)
    assert [group.title for group in table.groups] == ["lambda-efo", "boto3-get-records"]
    texts = [[cell.text for cell in row] for row in table.groups[0].rows]
    assert texts == [
        ["by-hand local #1", "100.0", "–", "–", "–"],
        ["by-hand local #2", "110.0", "+10.0", "1.10", "no"],
        ["by-hand local #3", "95.0", "−5.0", "0.95", "no"],
    ]
    assert len(table.groups[1].rows) == 2


def test_of_many_runs_a_consumer_that_one_has_alone_is_left_out() -> None:
    runs = [summarised({"lambda-efo": 50}, FAN_OUT) for _ in range(3)]
    runs += [summarised({"boto3-get-records": 100}, POLLER)]
    assert [group.title for group in differences_table(runs).groups] == ["lambda-efo"]
