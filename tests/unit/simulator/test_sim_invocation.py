"""Batches, lanes and handling, and what queueing theory says about them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shardlane_lab.simulator.arrivals import Times
from shardlane_lab.simulator.invocation import Handled, Stage, batch_time, batches, handle
from shardlane_lab.simulator.reader import Handling, MappingParameters, Spread

RECORDS = 100_000


def stage(
    *,
    records_per_batch: int = 100,
    window_ms: float = 0,
    before_ms: float = 0,
    overhead_ms: float = 0,
    per_record_ms: float = 0,
    workers: int = 1,
    spread: Spread = "fixed",
) -> Stage:
    return Stage(
        records_per_batch=records_per_batch,
        window_ms=window_ms,
        before_ms=before_ms,
        overhead_ms=overhead_ms,
        handling=Handling(per_record_ms=per_record_ms, workers=workers, spread=spread),
    )


def served(
    ready_ms: list[float] | Times, of: Stage, lane: NDArray[np.int64] | None = None
) -> Handled:
    return handle(np.array(ready_ms, dtype=float), lane, of, np.random.default_rng(3))


def poisson_ms(rate_per_s: float) -> Times:
    return np.cumsum(np.random.default_rng(5).exponential(1000 / rate_per_s, RECORDS))


class TestQueueingTheory:
    """One record a batch: a lane is a single server."""

    @pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
    def test_m_d_1(self, load: float) -> None:
        """Fixed service: the mean wait is ρs / 2(1 − ρ) (Pollaczek–Khinchine)."""
        ready_ms = poisson_ms(100 * load)
        done = served(ready_ms, stage(records_per_batch=1, per_record_ms=10))
        expected_ms = load * 10 / (2 * (1 - load))
        assert (done.received_ms - ready_ms).mean() == pytest.approx(expected_ms, rel=0.04)

    @pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
    def test_m_m_1(self, load: float) -> None:
        """Exponential service: the mean wait is ρs / (1 − ρ), twice the wait of M/D/1."""
        ready_ms = poisson_ms(100 * load)
        done = served(ready_ms, stage(records_per_batch=1, per_record_ms=10, spread="exponential"))
        expected_ms = load * 10 / (1 - load)
        assert (done.received_ms - ready_ms).mean() == pytest.approx(expected_ms, rel=0.08)

    @pytest.mark.parametrize("records_per_batch", [1, 20])
    def test_littles_law(self, records_per_batch: int) -> None:
        """The mean number in the system, watched at its changes, is rate × mean time in it."""
        ready_ms = poisson_ms(70)
        of = stage(records_per_batch=records_per_batch, overhead_ms=3, per_record_ms=10)
        done = served(ready_ms, of)
        moments = np.concatenate((ready_ms, done.done_ms))
        steps = np.concatenate((np.ones(RECORDS), -np.ones(RECORDS)))
        order = np.argsort(moments, kind="stable")
        inside = np.cumsum(steps[order])[:-1]
        span_ms = moments.max() - moments.min()
        mean_inside = (inside * np.diff(moments[order])).sum() / span_ms
        rate_per_ms = RECORDS / span_ms
        assert mean_inside == pytest.approx(
            rate_per_ms * (done.done_ms - ready_ms).mean(), rel=1e-9
        )

    def test_utilisation_is_rate_times_service(self) -> None:
        ready_ms = poisson_ms(60)
        done = served(ready_ms, stage(records_per_batch=1, per_record_ms=10))
        busy = done.duration_ms.sum() / (done.done_ms.max() - ready_ms[0])
        assert busy == pytest.approx(0.6, rel=0.02)

    def test_an_overloaded_lane_falls_behind_by_what_it_cannot_do(self) -> None:
        ready_ms = np.arange(1000, dtype=np.float64) * 10
        done = served(ready_ms, stage(records_per_batch=1, per_record_ms=15))
        assert done.received_ms[-1] - ready_ms[-1] == pytest.approx(999 * 5)


class TestBatches:
    def test_records_that_came_together_are_one_batch(self) -> None:
        done = served([0, 0, 0, 50, 90], stage(before_ms=12))
        assert done.batch.tolist() == [3, 3, 3, 1, 1]
        assert done.received_ms.tolist() == [12, 12, 12, 62, 102]

    def test_a_batch_ends_at_its_size(self) -> None:
        done = served([0] * 5, stage(records_per_batch=2, overhead_ms=10))
        assert done.batch.tolist() == [2, 2, 2, 2, 1]
        assert done.invoked_ms.tolist() == [0, 10, 20]

    def test_what_comes_meanwhile_goes_with_the_next_batch(self) -> None:
        done = served([0, 10, 20, 200], stage(per_record_ms=100))
        assert done.batch.tolist() == [1, 2, 2, 1]
        assert done.received_ms.tolist() == [0, 100, 100, 300]
        assert done.done_ms.tolist() == [100, 200, 300, 400]

    def test_a_window_opens_with_the_first_record(self) -> None:
        done = served([0, 400, 999, 1001], stage(window_ms=1000))
        assert done.batch.tolist() == [3, 3, 3, 1]
        assert done.received_ms.tolist() == [1000, 1000, 1000, 2001]

    def test_a_full_batch_does_not_wait_for_the_window(self) -> None:
        done = served([0, 400, 999], stage(window_ms=1000, records_per_batch=2))
        assert done.received_ms.tolist() == [400, 400, 1999]

    def test_workers_share_a_batch(self) -> None:
        done = served([0] * 5, stage(per_record_ms=10, workers=2, overhead_ms=1))
        assert done.done_ms.tolist() == [10, 10, 20, 20, 30]
        assert done.duration_ms.tolist() == [31]

    def test_lanes_work_at_the_same_time_and_a_lane_one_batch_at_a_time(self) -> None:
        lane = np.array([0, 1, 0, 1, 0])
        done = served([0, 0, 10, 10, 150], stage(per_record_ms=100), lane)
        assert done.received_ms.tolist() == [0, 0, 100, 100, 200]
        assert done.oldest.tolist() == [0, 1, 2, 3, 4]
        assert done.invoked_ms.tolist() == [0, 0, 100, 100, 200]

    @given(
        gaps=st.lists(st.integers(0, 40), max_size=60),
        before_ms=st.integers(0, 20),
        per_record_ms=st.sampled_from([0, 5, 30]),
        records_per_batch=st.sampled_from([1, 100]),
    )
    def test_the_short_cuts_give_what_the_loop_gives(
        self, gaps: list[int], before_ms: int, per_record_ms: int, records_per_batch: int
    ) -> None:
        ready_ms = np.cumsum(np.array(gaps, dtype=float))
        of = stage(
            before_ms=before_ms,
            overhead_ms=5,
            per_record_ms=per_record_ms,
            records_per_batch=records_per_batch,
        )
        taken_ms = batch_time(of.handling, np.random.default_rng(1))
        looped = batches(ready_ms.tolist(), of, taken_ms)
        done = served(ready_ms, of)
        assert done.invoked_ms.tolist() == pytest.approx(looped.received_ms.tolist())
        assert done.duration_ms.tolist() == pytest.approx(
            (looped.done_ms - looped.received_ms).tolist()
        )
        assert done.oldest.tolist() == looped.first.tolist()
        assert done.batch.tolist() == np.repeat(looped.size, looped.size).tolist()


def test_six_mib_of_event_bound_a_batch() -> None:
    mapping = MappingParameters(batch_size=10_000)
    assert mapping.records_per_batch(100) == 8987  # 136 bytes of base64 and 564 of envelope: 700
    assert mapping.records_per_batch(1024 * 1024) == 4
    assert mapping.records_per_batch(10 * 1024 * 1024) == 1
    assert MappingParameters(batch_size=7).records_per_batch(100) == 7


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("batch_size", 0, "1 to 10000"),
        ("window_ms", 300_001.0, "0 to 300000"),
        ("parallelization", 11, "1 to 10"),
    ],
)
def test_mapping_parameters_have_the_services_ranges(name: str, value: float, allowed: str) -> None:
    parameters: dict[str, float] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is {value}; allowed is {allowed}"):
        MappingParameters(**parameters)  # type: ignore[arg-type]


def test_handling_is_checked() -> None:
    with pytest.raises(ValueError, match="per_record_ms must not be negative: -1"):
        Handling(per_record_ms=-1)
    with pytest.raises(ValueError, match="workers must be at least 1: 0"):
        Handling(workers=0)
