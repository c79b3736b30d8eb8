"""The sentence at the top."""

from __future__ import annotations

import pytest

from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.summary import summarise
from shardlane_lab.run_record import ConsumerRecord, Run
from shardlane_lab.sample import Sample
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, STANDARD, run, sample

LABELS = ("boto3-get-records-1", "boto3-get-records-2", "boto3-get-records-3")
THREE = tuple(ConsumerRecord(label=label, kind="boto3-get-records") for label in LABELS)


def of(consumer: ConsumerRecord, latency_ms: float, count: int = 10) -> list[Sample]:
    return [sample(seq, latency_ms, label=consumer.label) for seq in range(count)]


def alone(fan_out_ms: float = 68.3) -> Run:
    samples = [*of(FAN_OUT, fan_out_ms), *of(STANDARD, 525), *of(POLLER, 161)]
    return run(samples, STANDARD, FAN_OUT, POLLER)


def crowded(fan_out_ms: float = 69.1) -> Run:
    samples = [*of(FAN_OUT, fan_out_ms), *of(STANDARD, 511)]
    for poller in THREE:
        samples += of(poller, 800)
    return run(samples, STANDARD, FAN_OUT, *THREE)


def test_two_runs_are_one_sentence() -> None:
    assert finding([summarise(alone()), summarise(crowded())]) == (
        "Enhanced fan-out delivered at p50 68 ms whatever else read the stream; "
        "a standard Lambda mapping at 0.53 s; "
        "one poller waited 0.16 s at p50 and 0.16 s at p99; "
        "three pollers sharing one shard waited 0.80 s at p50 and 0.80 s at p99."
    )


def test_fan_out_that_moved_is_not_said_to_stand_still() -> None:
    text = finding([summarise(alone()), summarise(crowded(fan_out_ms=200))])
    assert text.startswith("Enhanced fan-out delivered at p50 68 ms to 0.20 s;")


def test_a_difference_within_chance_is_no_movement() -> None:
    """Ten spread values a run: the medians differ by a fifth and could be the same."""
    runs = []
    for base, shift_ms in ((alone(), 0.0), (crowded(), 14.0)):
        spread = [sample(seq, 20 + 10.0 * seq + shift_ms, label=FAN_OUT.label) for seq in range(10)]
        others = [each for each in base.samples if each.label != FAN_OUT.label]
        runs.append(Run(base.record, [*others, *spread], []))
    text = finding([summarise(each) for each in runs])
    assert "p50 60 to 74 ms whatever else read the stream" in text


def test_a_single_run_says_nothing_about_other_readers() -> None:
    assert "whatever" not in finding([summarise(alone())])


def test_runs_with_the_same_readers_say_nothing_about_other_readers() -> None:
    assert "whatever" not in finding([summarise(alone()), summarise(alone(69))])


def test_both_kinds_of_fan_out_are_named() -> None:
    boto3 = ConsumerRecord(label="boto3-efo", kind="boto3-efo")
    both = run([*of(FAN_OUT, 68), *of(boto3, 78)], FAN_OUT, boto3)
    assert finding([summarise(both)]) == (
        "Enhanced fan-out delivered at p50 68 ms (Lambda) and 78 ms (boto3)."
    )


def test_pollers_alone_start_the_sentence_and_shards_are_counted() -> None:
    samples = of(THREE[0], 40) + of(THREE[1], 50)
    samples.append(sample(10, 50, label=LABELS[0], shard_id="shardId-000000000001"))
    text = finding([summarise(run(samples, *THREE[:2]))])
    assert text == "Two pollers sharing 2 shards waited 50 ms at p50 and 50 ms at p99."


def test_nothing_received_is_said() -> None:
    assert finding([summarise(run([]))]) == "No consumer received a record."


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (of(POLLER, 5), "Every consumer received every record once."),
        (of(POLLER, 5, count=9), "1 record is missing (boto3-get-records)."),
        (of(POLLER, 5, count=8), "2 records are missing (boto3-get-records)."),
        (
            [*of(POLLER, 5), sample(3, 70)],
            "1 delivery was a repetition (boto3-get-records).",
        ),
        (
            [*of(POLLER, 5, count=9), sample(3, 70), sample(4, 70)],
            "1 record is missing (boto3-get-records); "
            "2 deliveries were repetitions (boto3-get-records).",
        ),
    ],
)
def test_whether_everything_came_once_is_said(samples: list[Sample], expected: str) -> None:
    assert delivery([summarise(run(samples))]) == expected
