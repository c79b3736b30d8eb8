"""What a reader is told beside the figures."""

from __future__ import annotations

from shardlane_lab.metric import MinuteStatistic, dimensions
from shardlane_lab.report.note import notes
from shardlane_lab.report.summary import summarise
from shardlane_lab.run_record import Run
from shardlane_lab.sample import Sample
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, record, run, sample

THROTTLES = MinuteStatistic(
    "AWS/Kinesis",
    "ReadProvisionedThroughputExceeded",
    dimensions(StreamName="order-events"),
    0,
    90.0,
    90,
    1.0,
    1.0,
)


def told(found: Run) -> str:
    return "\n".join(notes(summarise(found)))


def many(count: int = 200) -> list[Sample]:
    return [sample(seq) for seq in range(count)]


def test_a_whole_run_beside_nothing_needs_no_note() -> None:
    assert told(Run(record(), many(), [THROTTLES])) == ""


def test_a_stopped_run_and_its_silent_consumer_are_named() -> None:
    text = told(run(many(), POLLER, FAN_OUT, complete=False))
    assert "stopped early" in text
    assert "No samples of lambda-efo" in text


def test_missing_metrics_are_said_to_be_unknown() -> None:
    assert "No metrics" in told(run(many()))


def test_samples_of_a_stranger_are_left_out_and_counted() -> None:
    stranger = sample(3, label="someone")
    found = summarise(run([*many(), stranger]))
    assert "1 sample of 'someone' left out" in "\n".join(notes(found))
    assert [consumer.label for consumer in found.consumers] == ["boto3-get-records"]


def test_a_p99_of_few_records_is_called_the_maximum() -> None:
    assert "Fewer than 100 records" in told(run(many(99)))
    assert "Fewer than 100 records" not in told(run(many(100)))


def test_resends_are_told_from_duplicate_deliveries() -> None:
    copies = [*many(), sample(3, sequence_number="9999")]
    text = told(run(copies, resends=2))
    assert "resent 2 records" in text
    assert "1 second copy reached the stream" in text


def test_records_that_could_not_be_sent_are_counted() -> None:
    assert "3 records could not be sent" in told(run(many(), producer_failures=3))


def test_counts_of_a_run_of_another_length_are_not_compared() -> None:
    text = "Counts have no ratio: this run did not last the published 600 s."
    assert text in told(run(many(), published_round="1", seconds=30.0))
    assert text not in told(run(many(), published_round="1"))


def test_more_throttles_than_published_are_explained_off_aws() -> None:
    seconds = {"seconds": 60.0, "published_round": "1"}
    local = Run(record(**seconds), many(), [THROTTLES])
    on_aws = Run(record(target="aws", **seconds), many(), [THROTTLES])
    assert "More throttles than published" in told(local)
    assert "More throttles than published" not in told(on_aws)


def test_negative_differences_are_shown_as_disagreeing_clocks() -> None:
    text = told(run([*many(), sample(300, latency_ms=-7.5)]))
    assert "1 difference of times below zero, the smallest −7.5 ms" in text


def test_an_extrapolation_says_what_of_it_was_not_measured() -> None:
    outside = {"outside_measured_range": ["a batch window", "several puts at once"]}
    text = told(Run(record(environment=outside), many(), [THROTTLES]))
    assert "Outside the measured range" in text
    assert "a batch window; several puts at once." in text
    on_aws = Run(record(environment=outside, target="aws"), many(), [THROTTLES])
    assert "Outside" not in told(on_aws)
