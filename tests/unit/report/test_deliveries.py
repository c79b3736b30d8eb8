"""First deliveries told from repetitions, and repetitions from second copies."""

from __future__ import annotations

from shardlane_lab.report.delivery import deliveries
from tests.unit.report.samples_by_hand import sample


def test_a_sequence_number_that_came_before_is_a_duplicate_and_the_first_counts() -> None:
    late = sample(1, latency_ms=900)
    found = deliveries([sample(0), late, sample(1, latency_ms=80)])
    assert found.duplicates == 1
    assert [each.arrival_to_receive_ms for each in found.first] == [100, 80]
    assert found.sent_twice == 0


def test_a_resent_record_is_two_records_of_the_stream() -> None:
    found = deliveries([sample(0), sample(0, sequence_number="2000")])
    assert (found.duplicates, found.sent_twice, len(found.first)) == (0, 1, 2)


def test_sequence_numbers_of_two_shards_may_be_equal() -> None:
    other = sample(1, shard_id="shardId-000000000001", sequence_number="1000")
    assert deliveries([sample(0), other]).duplicates == 0


def test_without_sequence_numbers_the_arrival_tells_copies_apart() -> None:
    bare = sample(0, sequence_number=None)
    again = sample(0, latency_ms=500, sequence_number=None)
    copy = sample(0, sequence_number=None, arrival_ms=bare.arrival_ms + 700)
    found = deliveries([bare, again, copy])
    assert (found.duplicates, found.sent_twice) == (1, 1)
