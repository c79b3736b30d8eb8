"""Expiry: a counter that stands still on the observer's own clock."""

from __future__ import annotations

from shardlane.consumer.lease import Lease
from shardlane.consumer.sightings import Sightings

ROW = Lease(shard_id="s", counter=1, owner="x")
LATER = Lease(shard_id="s", counter=2, owner="x")


def test_a_lease_expires_when_a_scan_after_the_ttl_still_shows_its_counter() -> None:
    seen = Sightings(10.0)
    for second in range(10):
        seen.saw([ROW], float(second))
        assert not seen.is_expired(ROW)
    seen.saw([ROW], 10.0)
    assert seen.is_expired(ROW)


def test_a_counter_that_moves_starts_the_wait_again() -> None:
    seen = Sightings(10.0)
    seen.saw([ROW], 0.0)
    seen.saw([LATER], 9.0)
    seen.saw([LATER], 18.0)
    assert not seen.is_expired(LATER)
    seen.saw([LATER], 19.0)
    assert seen.is_expired(LATER)


def test_a_paused_observer_cannot_call_anyone_dead_from_memory() -> None:
    seen = Sightings(10.0)
    seen.saw([ROW], 0.0)
    # Fifteen seconds pass without a scan; the row it remembers says nothing about now.
    assert not seen.is_expired(ROW)
    seen.saw([LATER], 15.0)
    assert not seen.is_expired(LATER)


def test_only_the_row_of_the_newest_scan_counts() -> None:
    seen = Sightings(10.0)
    seen.saw([ROW], 0.0)
    seen.saw([LATER], 11.0)
    assert not seen.is_expired(ROW)


def test_a_row_that_was_gone_starts_anew_but_stays_known() -> None:
    seen = Sightings(10.0)
    seen.saw([ROW], 0.0)
    seen.saw([], 5.0)
    seen.saw([ROW], 12.0)
    assert not seen.is_expired(ROW)
    assert seen.known_since_s("s") == 0.0
    assert seen.known_since_s("t") is None
