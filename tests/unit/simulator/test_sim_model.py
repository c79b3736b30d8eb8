"""One shard and its readers: limits, latencies that theory knows, repeatability and speed."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from shardlane_lab.local_kinesis.limiter import LimiterShape
from shardlane_lab.local_kinesis.limits import MIB, Limits
from shardlane_lab.simulator.arrivals import Load, Times
from shardlane_lab.simulator.figures import figures
from shardlane_lab.simulator.model import simulate_shard, simulate_stream
from shardlane_lab.simulator.parameters import H0, H1, Parameters
from shardlane_lab.simulator.reader import Handling, MappingParameters, Reader
from shardlane_lab.simulator.shard_run import ShardRun

LOAD = Load(rate_per_s=5, seconds=600)
STANDARD = Reader(label="standard", kind="lambda-standard")
LAMBDA_EFO = Reader(label="efo", kind="lambda-efo")
BOTO3_EFO = Reader(label="subscribe", kind="boto3-efo")


def pollers(count: int, interval_ms: float = 200) -> list[Reader]:
    return [
        Reader(label=f"poller-{number}", kind="boto3-get-records", interval_ms=interval_ms)
        for number in range(1, count + 1)
    ]


def everything(run: ShardRun) -> bytes:
    return b"".join(
        array.tobytes()
        for each in run.readings
        for array in (each.received_ms, each.done_ms, each.answered_ms, each.refused_ms)
    )


def calls_ms(run: ShardRun) -> Times:
    return np.sort(np.concatenate([each.answered_ms for each in run.readings]))


class TestRepeatability:
    READERS = (*pollers(3), STANDARD, LAMBDA_EFO, BOTO3_EFO)

    def test_the_same_seed_gives_the_same_bytes(self) -> None:
        first = simulate_shard(LOAD, self.READERS, H1, 11)
        second = simulate_shard(LOAD, self.READERS, H1, 11)
        assert everything(first) == everything(second)

    def test_another_seed_gives_others(self) -> None:
        first = simulate_shard(LOAD, self.READERS, H1, 11)
        other = simulate_shard(LOAD, self.READERS, H1, 12)
        assert everything(first) != everything(other)

    def test_shards_do_not_march_in_step(self) -> None:
        runs = simulate_stream(replace(LOAD, rate_per_s=15), 3, pollers(2), H1, 4)
        again = simulate_stream(replace(LOAD, rate_per_s=15), 3, pollers(2), H1, 4)
        assert len({everything(run) for run in runs}) == 3
        assert [everything(run) for run in runs] == [everything(run) for run in again]
        assert [len(run.arrivals) for run in runs] == [3000] * 3

    def test_every_reader_receives_every_record_once_and_in_order(self) -> None:
        run = simulate_shard(LOAD, self.READERS, H0, 5)
        for each in run.readings:
            assert run.missing(each) == 0
            assert np.all(np.diff(each.received_ms) >= 0)
            assert np.all(each.received_ms > run.arrivals.written_ms)
            assert np.all(each.done_ms >= each.received_ms)

    def test_two_readers_need_two_labels(self) -> None:
        with pytest.raises(ValueError, match="label of its own"):
            simulate_shard(LOAD, [STANDARD, STANDARD], H0, 1)

    def test_an_unknown_label_is_told_which_there_are(self) -> None:
        run = simulate_shard(LOAD, [STANDARD], H0, 1)
        with pytest.raises(KeyError, match=r"no reader 'x'; there are \['standard'\]"):
            run.reading("x")


class TestSharedReads:
    @pytest.mark.parametrize("shape", list(LimiterShape))
    def test_never_more_than_the_limit(self, shape: LimiterShape) -> None:
        parameters = replace(H0, limits=Limits(get_records_shape=shape))
        taken = calls_ms(simulate_shard(LOAD, pollers(6), parameters, 2))
        burst = 0 if shape is LimiterShape.SLIDING_WINDOW else 5
        for span_s in (1, 3, 20):
            ends = np.searchsorted(taken, taken + span_s * 1000 - 0.01)
            assert (ends - np.arange(len(taken))).max() <= 5 * span_s + burst

    def test_never_less_than_the_limit_where_everybody_wants_more(self) -> None:
        run = simulate_shard(LOAD, pollers(6), H0, 2)
        assert figures(run).succeeded_per_minute == pytest.approx(300, abs=1)

    def test_slow_enough_polls_are_never_refused(self) -> None:
        run = simulate_shard(LOAD, pollers(3, interval_ms=750), H1, 3)
        assert figures(run).throttled_per_minute == 0

    def test_without_refusals_a_record_waits_for_half_an_interval_on_average(self) -> None:
        run = simulate_shard(replace(LOAD, pattern="poisson"), pollers(1, 1000), H0, 3)
        waited = run.readings[0].received_ms - run.arrivals.visible_ms
        assert waited.mean() == pytest.approx((1000 + 5.5) / 2 + 2.75, rel=0.02)

    def test_a_standard_mappings_wait_is_the_residual_of_its_interval(self) -> None:
        """Renewal theory: the mean wait is E[T²] / 2 E[T], hiccups included."""
        runs = [
            simulate_shard(replace(LOAD, pattern="poisson"), [STANDARD], H0, seed)
            for seed in range(20)
        ]
        between = np.concatenate([np.diff(run.readings[0].answered_ms) for run in runs])
        waited = np.concatenate(
            [run.readings[0].received_ms - run.arrivals.visible_ms for run in runs]
        )
        expected = (between**2).mean() / (2 * between.mean()) + 2.75 + 12
        assert waited.mean() == pytest.approx(expected, rel=0.02)

    def test_one_standard_mapping_is_never_refused_and_several_share(self) -> None:
        alone = simulate_shard(LOAD, [STANDARD, *pollers(3)], H1, 1)
        assert len(alone.reading("standard").refused_ms) == 0
        crowd = [Reader(label=f"m{n}", kind="lambda-standard") for n in range(12)]
        shared = simulate_shard(LOAD, crowd, H1, 1)
        assert all(len(each.refused_ms) > 0 for each in shared.readings)
        assert figures(shared).succeeded_per_minute <= 301

    def test_bytes_hold_up_readers_that_together_want_more_than_2_mib_a_second(self) -> None:
        """3 readers of 0.9 MiB/s each: the third of a share is all that one gets."""
        load = Load(rate_per_s=9, seconds=60, record_bytes=MIB // 10, keys=50, producer="many")
        run = simulate_shard(load, pollers(3, 600), H0, 1)
        few = simulate_shard(load, pollers(2, 600), H0, 1)
        assert all(run.missing(each) == 0 for each in run.readings)
        assert max(each.received_ms.max() for each in run.readings) > 60_000 * 2.7 / 2 * 0.95
        assert max(each.received_ms.max() for each in few.readings) < 63_000

    def test_the_retry_quota_drains_with_four_pollers_and_not_with_two(self) -> None:
        lowest = {
            count: min(figures(simulate_shard(LOAD, pollers(count), H1, 1)).quota_lowest.values())
            for count in (2, 4)
        }
        assert lowest[2] > 400
        assert lowest[4] < 5

    @pytest.mark.parametrize(
        ("count", "p50_s", "p99_s"), [(1, 0.16, 1.4), (3, 0.78, 7.4), (5, 1.5, 10.5)]
    )
    def test_latency_by_pollers_is_that_of_the_feasibility_study(
        self, count: int, p50_s: float, p99_s: float
    ) -> None:
        """An independent model of the same mechanism found these (H1)."""
        readers = [*pollers(count), STANDARD]
        found = [figures(simulate_shard(LOAD, readers, H1, seed)) for seed in range(15)]
        p50 = median(each.latency_ms["poller-1"].p50 for each in found)
        p99 = median(each.latency_ms["poller-1"].p99 for each in found)
        assert p50 == pytest.approx(p50_s * 1000, rel=0.15)
        assert p99 == pytest.approx(p99_s * 1000, rel=0.20)

    def test_cut_answers_leave_the_same_receipts_as_whole_ones_where_both_can_be(self) -> None:
        """A shard that counts its answers one by one and one that counts them afterwards."""
        readers = [*pollers(3), STANDARD]
        whole = simulate_shard(LOAD, readers, H1, 6)
        many = replace(LOAD, record_bytes=300)  # 3.6 MB in all: over a second's worth
        counted = simulate_shard(many, readers, H1, 6)
        assert everything(whole) == everything(counted)

    def test_an_answer_has_at_most_ten_thousand_records(self) -> None:
        load = Load(rate_per_s=20_000, seconds=3, record_bytes=1, producer="many")
        run = simulate_shard(load, pollers(1, 1000), H0, 1)
        sizes = np.unique(run.readings[0].received_ms, return_counts=True)[1]
        assert sizes.max() == 10_000
        assert sizes.sum() == 60_000


class TestMappings:
    def test_efo_does_not_care_who_else_reads(self) -> None:
        alone = simulate_shard(LOAD, [LAMBDA_EFO], H0, 8).reading("efo")
        crowded = simulate_shard(LOAD, [LAMBDA_EFO, *pollers(10), STANDARD], H0, 8).reading("efo")
        assert np.array_equal(alone.received_ms, crowded.received_ms)

    def test_efo_invokes_about_five_times_as_often(self) -> None:
        run = simulate_shard(LOAD, [STANDARD, LAMBDA_EFO], H0, 1)
        standard, efo = (len(each.invoked_ms) for each in run.readings)
        assert efo / standard == pytest.approx(5.1, rel=0.05)

    def test_iterator_age_is_that_of_the_oldest_record(self) -> None:
        run = simulate_shard(LOAD, [STANDARD], H0, 1)
        reading = run.readings[0]
        first = np.concatenate(
            (
                [0],
                np.cumsum(np.bincount(np.searchsorted(reading.invoked_ms, reading.received_ms)))[
                    :-1
                ],
            )
        )
        ages = reading.invoked_ms - run.arrivals.arrival_ms[first]
        assert np.array_equal(reading.iterator_age_ms, ages)

    def test_parallelization_helps_only_if_the_handler_cannot_keep_up(self) -> None:
        def p50(parallelization: int, per_record_ms: float) -> float:
            reader = replace(
                LAMBDA_EFO,
                handling=Handling(per_record_ms=per_record_ms),
                mapping=MappingParameters(parallelization=parallelization),
            )
            run = simulate_shard(replace(LOAD, keys=100), [reader], H0, 1)
            return float(np.median(run.handled_ms(run.readings[0])))

        assert p50(2, 20) == pytest.approx(p50(1, 20), rel=0.05)
        assert p50(1, 250) > 60_000
        assert p50(4, 250) < 1_000

    def test_a_key_is_never_in_two_lanes_at_once(self) -> None:
        reader = replace(
            LAMBDA_EFO,
            handling=Handling(per_record_ms=300),
            mapping=MappingParameters(parallelization=5),
        )
        run = simulate_shard(replace(LOAD, keys=3, seconds=60), [reader], H0, 1)
        reading = run.readings[0]
        for key in range(3):
            of_key = run.arrivals.keys == key
            started = reading.done_ms[of_key] - 300
            assert np.all(started[1:] >= reading.done_ms[of_key][:-1] - 1e-6)

    def test_a_window_saves_invocations_and_costs_latency(self) -> None:
        windowed = replace(LAMBDA_EFO, mapping=MappingParameters(window_ms=1000))
        plain = simulate_shard(LOAD, [LAMBDA_EFO], H0, 1)
        waiting = simulate_shard(LOAD, [windowed], H0, 1)
        assert len(waiting.readings[0].invoked_ms) < len(plain.readings[0].invoked_ms) / 4
        assert figures(waiting).latency_ms["efo"].p50 > figures(plain).latency_ms["efo"].p50 + 400

    def test_a_boto3_reader_handles_behind_its_back(self) -> None:
        slow = replace(BOTO3_EFO, handling=Handling(per_record_ms=150, workers=1))
        run = simulate_shard(LOAD, [slow], H0, 1)
        reading = run.readings[0]
        assert np.all(np.diff(reading.done_ms) >= 150 - 1e-6)
        assert np.median(run.latency_ms(reading)) == pytest.approx(79, rel=0.05)


def best_ms(count: int, readers: list[Reader], parameters: Parameters) -> float:
    """Processor time of the fastest of several runs: what the model takes, whatever else this
    machine does."""
    taken = []
    for seed in range(count):
        began = time.process_time()
        simulate_shard(LOAD, readers, parameters, seed)
        taken.append(time.process_time() - began)
    return min(taken) * 1000


def test_ten_minutes_of_a_shard_with_three_pollers_take_at_most_20_ms() -> None:
    assert best_ms(30, pollers(3), H1) <= 20


def test_a_thousand_shards_take_at_most_15_s() -> None:
    """Shards do not touch each other, so a thousand take a thousand times as long as one; all of
    them here would measure this machine's other work."""
    readers = [*pollers(1), STANDARD]
    assert best_ms(30, readers, H1) * 1000 <= 15_000
