"""The way into the service."""

from __future__ import annotations

from shardlane_lab.published import published_round
from shardlane_lab.report.send_summary import summarise_send
from tests.unit.report.samples_by_hand import record, sample


def test_a_record_counts_once_whoever_received_it() -> None:
    samples = [sample(seq, label=label) for label in ("a", "b") for seq in range(5)]
    found = summarise_send(record(), samples, published_round("1"))
    assert found.count == 4
    assert found.to_arrival["p50"].value == 50
    assert found.to_arrival["p50"].published == 71.1
    assert found.to_arrival["p50"].basis == "calibrated"


def test_the_first_record_stands_apart_and_is_this_machines_own() -> None:
    slow = sample(0, sent_ms=sample(0).sent_ms - 8000)
    found = summarise_send(record(), [slow, sample(1)], published_round("1"))
    first = found.first_to_arrival
    assert (first.value, first.published, first.basis, first.ratio) == (8050, 8500, "local", None)
    assert found.to_arrival["max"].value == 50
    assert found.first_put_ms == 12


def test_on_aws_the_first_record_is_measured_and_compared() -> None:
    found = summarise_send(record(target="aws"), [sample(0)], published_round("1"))
    assert found.first_to_arrival.basis == "measured"
    assert found.first_to_arrival.ratio == 50 / 8500
