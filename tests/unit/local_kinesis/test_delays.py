"""The measured delays are the published distributions."""

from __future__ import annotations

import statistics
from random import Random

import pytest

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.percentile import percentile

DRAWS = 20_000


def push_ms(caller: Caller) -> list[float]:
    random, delays = Random(1), Delays.measured()
    return sorted(delays.push_ms(random, caller) for _ in range(DRAWS))


def test_a_push_to_lambda_is_nearly_uniform() -> None:
    """Published: p50 68, p90 109, p99 119 ms."""
    drawn = push_ms(Caller.EVENT_SOURCE_MAPPING)
    assert percentile(drawn, 50) == pytest.approx(68, abs=2)
    assert percentile(drawn, 90) == pytest.approx(109, abs=2)
    assert percentile(drawn, 99) == pytest.approx(119, abs=2)
    assert drawn[0] > 8


def test_a_client_sees_a_little_more_and_sometimes_much_more() -> None:
    mapping, client = push_ms(Caller.EVENT_SOURCE_MAPPING), push_ms(Caller.API)
    assert statistics.fmean(client) - statistics.fmean(mapping) == pytest.approx(
        7.5 + 0.08 * 30, abs=1
    )
    assert client[-1] > 150


def test_a_put_takes_66_ms_and_a_log_normal_share() -> None:
    random, delays = Random(1), Delays.measured()
    drawn = sorted(delays.put_ms(random) for _ in range(DRAWS))
    assert drawn[0] > 66
    assert percentile(drawn, 50) == pytest.approx(71.06, abs=0.3)
    assert percentile(drawn, 84.13) == pytest.approx(66 + 5.06 * 2.815, abs=1)  # one sigma


def test_visibility_and_round_trip() -> None:
    random, delays = Random(1), Delays.measured()
    visible = [delays.visibility_ms(random) for _ in range(DRAWS)]
    assert min(visible) >= 21
    assert statistics.fmean(visible) == pytest.approx(26, abs=0.2)
    trips = [delays.get_records_ms(random) for _ in range(DRAWS)]
    assert (min(trips), max(trips)) == pytest.approx((4, 7), abs=0.01)


def test_without_delays_nothing_is_drawn() -> None:
    random, delays = Random(1), Delays.none()
    before = random.getstate()
    assert delays.put_ms(random) == delays.visibility_ms(random) == 0
    assert delays.push_ms(random, Caller.API) == delays.get_records_ms(random) == 0
    assert random.getstate() == before


def test_a_push_is_never_early() -> None:
    random, delays = Random(1), Delays(push_sigma_ms=5)
    assert min(delays.push_ms(random, Caller.API) for _ in range(1000)) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"put_base_ms": -1},
        {"get_records_low_ms": 5, "get_records_high_ms": 4},
        {"push_client_tail_share": 1.5},
    ],
)
def test_impossible_delays_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).rsplit("_", 2)[0]):
        Delays(**wrong)
