"""The published measurement, as the lab reads it."""

from __future__ import annotations

import pytest

from shardlane_lab.published import NOTHING_PUBLISHED, published_round, published_rounds


def test_there_are_two_rounds_with_one_and_three_pollers() -> None:
    assert {name: each.pollers for name, each in published_rounds().items()} == {"1": 1, "2": 3}


def test_the_first_round_is_read_whole() -> None:
    found = published_round("1")
    assert found.arrival_to_receive["lambda-efo"]["p50"] == 68.3
    assert found.send_to_arrival["first_record"] == 8500
    assert found.send_to_receive_p50["boto3-get-records"] == 224.2
    assert found.records_in_batches_of["lambda-standard"][5] == 2050
    assert found.largest_batch == {"lambda-standard": 17}
    assert found.per_minute["GetRecords.Success_sum"] == (299, 306)
    assert (found.records, found.missing, found.duplicates) == (3000, 0, 0)
    assert found.subscribe_refusals == 0


def test_what_the_second_round_did_not_publish_is_not_there() -> None:
    found = published_round("2")
    assert found.records is None
    assert found.send_to_arrival == {}
    assert found.surfaced_throttles["boto3-get-records-3"] == 15


def test_an_unknown_round_names_those_that_exist() -> None:
    with pytest.raises(ValueError, match="no published round '3'; there are 1, 2"):
        published_round("3")


def test_nothing_published_has_no_figure() -> None:
    assert not NOTHING_PUBLISHED.arrival_to_receive
    assert NOTHING_PUBLISHED.records is None
