"""The figures of one consumer."""

from __future__ import annotations

from shardlane_lab.published import NOTHING_PUBLISHED, published_round
from shardlane_lab.report.consumer_summary import ConsumerSummary, summarise_consumer
from shardlane_lab.run_record import ConsumerRecord
from shardlane_lab.sample import Sample
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, STANDARD, record, sample


def summarised(
    samples: list[Sample], consumer: ConsumerRecord = POLLER, **changes: object
) -> ConsumerSummary:
    return summarise_consumer(record(consumer, **changes), consumer, samples, published_round("1"))


def test_latency_percentiles_are_of_every_record_once() -> None:
    samples = [sample(seq, latency_ms=10.0 * (seq + 1)) for seq in range(10)]
    found = summarised([*samples, sample(9, latency_ms=9999)])
    values = {name: each.value for name, each in found.latency.items()}
    assert values == {"p50": 50, "p90": 90, "p99": 100, "max": 100, "min": 10}
    assert found.received.value == 10
    assert found.duplicates.value == 1


def test_missing_is_counted_by_seq_and_resends_do_not_hide_it() -> None:
    samples = [sample(0), sample(1), sample(1, sequence_number="2000")]
    found = summarised(samples, sent=4)
    assert (found.missing.value, found.sent_twice) == (2, 1)


def test_a_record_that_was_stored_though_its_put_failed_is_not_less_than_nothing() -> None:
    assert summarised([sample(0), sample(1)], sent=1).missing.value == 0


def test_the_first_put_stands_apart_from_send_to_receive() -> None:
    first = sample(0, sent_ms=sample(0).sent_ms - 8000)
    found = summarised([first, sample(1), sample(2, latency_ms=200)])
    assert found.first_send_to_receive_ms == 8150
    assert found.send_to_receive_count == 2
    assert found.send_to_receive["max"].value == 250
    assert found.send_to_receive["p50"].published == 224.2


def test_published_values_are_matched_by_label() -> None:
    found = summarised([sample(0)])
    assert found.latency["p50"].published == 161.4
    assert found.latency["p50"].ratio == 100 / 161.4
    assert found.latency["min"].published is None
    unknown = ConsumerRecord(label="boto3-get-records-9", kind="boto3-get-records")
    assert summarised([sample(0)], unknown).latency["p50"].published is None


def test_counts_have_a_ratio_only_to_a_run_of_the_same_length() -> None:
    assert summarised([sample(0)], seconds=600.0).received.ratio == 1 / 3000
    short = summarised([sample(0)], seconds=30.0)
    assert short.received.ratio is None
    assert short.received.published == 3000
    assert short.latency["p50"].ratio is not None
    assert summarised([sample(0)], complete=False).received.ratio is None


def test_surfaced_throttles_are_those_of_consumers_that_poll() -> None:
    surfaced = summarised([sample(0)]).surfaced_throttles
    assert surfaced is not None
    assert (surfaced.value, surfaced.published) == (3, 0)
    for consumer in (STANDARD, FAN_OUT):
        assert summarised([sample(0)], consumer).surfaced_throttles is None


def test_batches_are_shares_of_the_records() -> None:
    samples = [sample(seq, batch=5) for seq in range(5)] + [sample(5, batch=1)]
    batches = summarised(samples, STANDARD).batches
    assert batches is not None
    assert [(each.size, each.records) for each in batches.sizes] == [(1, 1), (5, 5)]
    assert batches.sizes[1].share.value == 5 / 6
    assert batches.sizes[1].share.published == 2050 / 3000
    assert (batches.largest.value, batches.largest.published) == (5, 17)


def test_a_silent_consumer_has_figures_of_nothing() -> None:
    found = summarised([])
    assert found.received.value == 0
    assert found.missing.value == 10
    assert all(each.value is None and each.ratio is None for each in found.latency.values())
    assert found.p50_interval_ms is None
    assert found.batches is None


def test_nothing_published_gives_no_comparison() -> None:
    found = summarise_consumer(record(), POLLER, [sample(0)], NOTHING_PUBLISHED)
    assert all(each.published is None for each in found.latency.values())
    assert found.received.published is None
