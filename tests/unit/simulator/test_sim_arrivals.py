"""When records are sent, arrive and can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.simulator.arrivals import Load, arrivals, arrivals_at, scheduled

MEASURED, NONE = Delays.measured(), Delays.none()


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_steady_load_is_evenly_spaced() -> None:
    times = scheduled(Load(rate_per_s=5, seconds=2), rng())
    assert times.tolist() == [200.0 * number for number in range(10)]


def test_a_poisson_load_has_its_rate_and_spread() -> None:
    load = Load(rate_per_s=50, seconds=400, pattern="poisson")
    times = scheduled(load, rng())
    gaps = np.diff(times)
    assert len(times) / 400 == pytest.approx(50, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.05)
    assert times[-1] < load.until_ms


def test_a_producer_that_waits_is_late_after_a_slow_put() -> None:
    load = Load(rate_per_s=10, seconds=0.5)
    came = arrivals(load, Delays(put_base_ms=250), rng())
    assert came.sent_ms.tolist() == [0, 250, 500, 750, 1000]
    assert came.written_ms.tolist() == [250, 500, 750, 1000, 1250]


def test_producers_that_do_not_wait_send_on_time_and_may_be_overtaken() -> None:
    load = Load(rate_per_s=100, seconds=20, producer="many")
    came = arrivals(load, MEASURED, rng())
    assert np.array_equal(came.sent_ms, came.scheduled_ms)
    assert np.all(np.diff(came.written_ms) >= 0)
    assert np.any(np.diff(came.sent_ms) < 0)


def test_the_time_stamp_is_whole_milliseconds_and_visibility_keeps_the_order() -> None:
    came = arrivals(Load(rate_per_s=5, seconds=60), MEASURED, rng())
    assert np.array_equal(came.arrival_ms, np.floor(came.written_ms))
    assert np.all(np.diff(came.visible_ms) >= 0)
    assert np.all(came.visible_ms >= came.written_ms + MEASURED.visibility_base_ms)


def test_send_to_arrival_is_that_of_the_published_run() -> None:
    came = arrivals(Load(rate_per_s=5, seconds=600), MEASURED, rng())
    way_ms = np.sort(came.written_ms - came.sent_ms)
    assert way_ms[1499] == pytest.approx(71.1, rel=0.01)
    assert way_ms[2699] == pytest.approx(85.1, rel=0.02)


def test_keys_are_used_in_turn_and_any_schedule_can_be_given() -> None:
    load = Load(rate_per_s=1, seconds=1, keys=3)
    came = arrivals_at(np.array([0.0, 1.0, 1.0, 9.0]), load, NONE, rng())
    assert came.keys.tolist() == [0, 1, 2, 0]
    assert came.visible_ms.tolist() == [0.0, 1.0, 1.0, 9.0]


@pytest.mark.parametrize("name", ["rate_per_s", "seconds", "record_bytes", "keys"])
def test_nothing_of_a_load_may_be_zero(name: str) -> None:
    values: dict[str, Any] = {"rate_per_s": 1, "seconds": 1, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be above 0: 0"):
        Load(**values)
