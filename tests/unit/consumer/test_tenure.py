"""What a holder concludes from the answers to its writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Done, Refused, Unknown
from shardlane.consumer.tenure import Standing, Tenure
from shardlane.consumer.terms import Terms
from shardlane.errors import SettingsError

ME = "shardlane/host/1/a"
OTHER = "shardlane/host/2/b"
TERMS = Terms()
ROW = Lease(shard_id="s", counter=7, owner=ME)


def tenure(sent_s: float = 100.0) -> Tenure:
    return Tenure(ROW, ME, sent_s, TERMS)


def moved(row: Lease = ROW, by: int = 1) -> Lease:
    return replace(row, counter=row.counter + by)


def test_the_fence_is_the_counter_of_the_take_and_stays() -> None:
    mine = tenure()
    mine.judge(Done(moved()), 101.0)
    assert (mine.fence, mine.row.counter) == (7, 8)


def test_the_deadline_counts_from_before_the_last_good_write_was_sent() -> None:
    mine = tenure(100.0)
    assert mine.deadline_s == 109.0
    mine.judge(Done(moved()), 103.0)
    assert mine.deadline_s == 112.0
    mine.judge(Unknown("time-out"), 106.0)
    assert mine.deadline_s == 112.0


def test_it_renews_after_a_third_of_the_ttl_and_checkpoints_after_a_second() -> None:
    mine = tenure(100.0)
    assert mine.due_s(moved=False) == pytest.approx(100 + 10 / 3)
    assert mine.due_s(moved=True) == 101.0


def test_an_own_write_whose_answer_was_lost_is_adopted_with_its_time() -> None:
    mine = tenure(100.0)
    assert mine.judge(Unknown("time-out"), 103.0) is Standing.UNKNOWN
    assert mine.judge(Unknown("time-out"), 104.0) is Standing.UNKNOWN
    assert mine.judge(Refused(moved()), 105.0) is Standing.ADOPTED
    assert mine.row.counter == 8
    assert mine.ok_s == 103.0


def test_a_moved_counter_without_an_unknown_attempt_means_lost() -> None:
    assert tenure().judge(Refused(moved()), 101.0) is Standing.LOST


def test_unknown_attempts_at_an_older_counter_do_not_count() -> None:
    mine = tenure()
    mine.judge(Unknown("time-out"), 101.0)
    mine.judge(Done(moved()), 102.0)
    assert mine.judge(Refused(moved(by=2)), 103.0) is Standing.LOST


def test_a_counter_two_ahead_is_not_mine_to_adopt() -> None:
    mine = tenure()
    mine.judge(Unknown("time-out"), 101.0)
    assert mine.judge(Refused(moved(by=2)), 102.0) is Standing.LOST


@pytest.mark.parametrize(
    "row",
    [
        None,
        replace(ROW, owner=OTHER),
        replace(ROW, owner=None),
        replace(ROW, owner=ME, checkpoint_owner=OTHER),
        replace(moved(), owner=OTHER),
    ],
    ids=["deleted", "taken", "released", "asked for", "taken later"],
)
def test_a_row_that_i_do_not_hold_is_lost_even_after_an_unknown_attempt(row: Lease | None) -> None:
    mine = tenure()
    mine.judge(Unknown("time-out"), 101.0)
    assert mine.judge(Refused(row), 102.0) is Standing.LOST


def test_a_hand_over_that_began_meanwhile_is_no_loss() -> None:
    mine = tenure()
    asked = replace(ROW, owner=OTHER, checkpoint_owner=ME)
    assert mine.judge(Refused(asked), 101.0) is Standing.CHANGED
    assert mine.row == asked
    assert mine.ok_s == 100.0


@pytest.mark.parametrize("wrong", [{"ttl_s": 2.9}, {"margin_s": 0.9}])
def test_terms_that_cannot_work_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Terms(**wrong)  # type: ignore[arg-type]
