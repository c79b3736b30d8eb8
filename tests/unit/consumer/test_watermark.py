"""The mark is the settled prefix, whatever the order of settling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shardlane.consumer.watermark import Watermark


def test_settling_out_of_order_stops_at_the_first_gap() -> None:
    mark: Watermark[int] = Watermark()
    index = {number: mark.register(number) for number in (1, 2, 3, 4, 5)}
    for number in (5, 4, 1, 2):
        mark.settle(index[number])
    assert mark.position == 2
    assert mark.oldest == 3
    assert mark.outstanding == 3
    mark.settle(index[3])
    assert mark.position == 5
    assert mark.outstanding == 0


def test_there_is_no_position_before_the_first_record_is_settled() -> None:
    mark: Watermark[str] = Watermark()
    mark.register("1")
    second = mark.register("2")
    assert not mark.settle(second)
    assert mark.position is None


def test_it_counts_arrivals_and_never_compares_positions() -> None:
    mark: Watermark[str] = Watermark()
    for index in [mark.register(number) for number in ("9", "10")]:
        assert mark.settle(index)
    assert mark.position == "10"


@given(st.permutations(range(40)), st.integers(0, 40))
def test_position_is_the_longest_settled_prefix(order: list[int], count: int) -> None:
    mark: Watermark[int] = Watermark()
    for number in range(40):
        assert mark.register(number) == number
    settled = set(order[:count])
    for number in order[:count]:
        mark.settle(number)
    prefix = next(number for number in range(41) if number not in settled)
    assert mark.position == (prefix - 1 if prefix else None)
    assert mark.outstanding == 40 - prefix


def test_old_positions_are_forgotten_and_indexes_stay() -> None:
    mark: Watermark[int] = Watermark()
    last = 0
    for number in range(20_000):
        last = mark.register(number)
        mark.settle(last)
    assert last == 19_999
    assert mark.position == 19_999
    assert len(mark._positions) < 9_000
    assert mark.settle(mark.register(20_000))


def test_latest_started_is_the_last_that_does_not_wait() -> None:
    mark: Watermark[int] = Watermark()
    for number in range(6):
        mark.register(number)
    assert mark.latest_of({2, 4, 5}) == 3
    assert mark.latest_of({0, 1, 2, 3, 4, 5}) == -1
