"""The files of a run: written, read back, cut off, damaged."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from shardlane_lab.gauge import Gauge, gauge_data
from shardlane_lab.metric import (
    KEPT_VALUES,
    Datum,
    dimensions,
    per_minute,
    read_statistics,
    write_statistics,
)
from shardlane_lab.run_record import ConsumerRecord, Run, RunRecord, read_run, write_run
from shardlane_lab.sample import Sample, read_samples, write_samples


def sample(seq: int, **more: object) -> Sample:
    values = {"label": "x", "sent_ms": 1.5, "arrival_ms": 3.0, "recv_ms": 2.5, "batch": 1} | more
    return Sample(seq=seq, **values)  # type: ignore[arg-type]


def test_latencies_are_differences_and_may_be_negative() -> None:
    one = sample(0)
    assert one.send_to_arrival_ms == 1.5
    assert one.arrival_to_receive_ms == -0.5
    assert one.send_to_receive_ms == 1.0


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    samples = [sample(0), sample(1, key="schlüssel", sequence_number="4" * 56, done_ms=9.25)]
    assert write_samples(tmp_path / "samples.jsonl", samples) == 2
    assert list(read_samples(tmp_path / "samples.jsonl")) == samples


def test_a_line_that_was_cut_off_at_the_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(sample(0).to_json() + "\n" + sample(1).to_json()[:20], encoding="utf-8")
    assert [each.seq for each in read_samples(path)] == [0]


@pytest.mark.parametrize("line", ["{", '{"label": "x"}', "3"])
def test_a_damaged_line_elsewhere_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(f"{sample(0).to_json()}\n{line}\n{sample(2).to_json()}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"samples\.jsonl:2"):
        list(read_samples(path))


def test_statistics_count_minutes_from_the_start_and_leave_out_what_came_before() -> None:
    def datum(value: float, at_ms: float, stream: str = "s") -> Datum:
        return Datum("AWS/Kinesis", "N", dimensions(StreamName=stream), value, at_ms)

    rows = per_minute(
        [datum(7, 999), datum(1, 1000), datum(3, 60_999), datum(5, 61_000), datum(2, 1000, "t")],
        start_ms=1000,
    )
    of_s = [row for row in rows if row.dimensions == (("StreamName", "s"),)]
    assert [(row.minute, row.sum, row.count, row.average) for row in of_s] == [
        (0, 4, 2, 2),
        (1, 5, 1, 5),
    ]
    assert (of_s[0].minimum, of_s[0].maximum) == (1, 3)
    assert len(rows) == 3


def test_statistics_come_back_as_they_were(tmp_path: Path) -> None:
    rows = per_minute([Datum("AWS/Lambda", "N", dimensions(B="2", A="1"), 1.5, 0)], 0)
    write_statistics(tmp_path / "metrics.jsonl", rows)
    assert read_statistics(tmp_path / "metrics.jsonl") == rows


def test_a_minute_keeps_its_values_for_percentiles(tmp_path: Path) -> None:
    where = dimensions(label="x")
    data = [Datum("Own", "Few", where, value, 0) for value in (3, 1, 2)]
    data += [Datum("Own", "Many", where, value, 0) for value in range(10_001)]
    data += [Datum("Own", "Same", where, 1, 0) for _ in range(3)]
    rows = per_minute(data, 0)
    few, many, same = (row.values for row in rows)
    assert few == (1, 2, 3)
    assert same == ()
    assert len(many) == KEPT_VALUES
    assert (many[0], many[-1]) == (0, 10_000)
    assert max(after - before for before, after in pairwise(many)) <= 21
    write_statistics(tmp_path / "metrics.jsonl", rows)
    assert read_statistics(tmp_path / "metrics.jsonl") == rows


@pytest.mark.parametrize("line", ["{", "[]", '{"dimensions": {}}', "null"])
def test_a_damaged_statistic_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"metrics\.jsonl:1: not a metric's minute"):
        read_statistics(path)


def a_run() -> Run:
    record = RunRecord(
        name="mine",
        title="Mine",
        target="local",
        stream="order-events",
        started_ms=1.0,
        seconds=2,
        rate_per_s=5,
        sent=1,
        first_put_ms=70.5,
        consumers=(ConsumerRecord(label="x", kind="boto3-efo", efo_consumer="e"),),
        environment={"delays": "measured"},
    )
    return Run(record, [sample(0)], [])


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    write_run(tmp_path / "deep" / "run", a_run())
    assert read_run(tmp_path / "deep" / "run") == a_run()


def gauge(at_ms: float) -> Gauge:
    return Gauge(label="x", at_ms=at_ms, channel_depth=64, lag_ms=1500.5, unsettled=80)


def test_gauges_come_back_as_they_were_and_are_metrics_too(tmp_path: Path) -> None:
    run = replace(a_run(), gauges=[gauge(1.0), gauge(1001.0)])
    write_run(tmp_path, run)
    assert read_run(tmp_path).gauges == run.gauges
    values = {each.name: each.value for each in gauge_data([gauge(1.0)])}
    assert values == {"channel_depth": 64, "lag_ms": 1500.5, "unsettled": 80, "keys_aside": 0}


@pytest.mark.parametrize("line", ["{", "[]", '{"label": "x"}', "null"])
def test_a_damaged_gauge_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    write_run(tmp_path, a_run())
    (tmp_path / "gauges.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gauges\.jsonl:1: not a gauge"):
        read_run(tmp_path)


def test_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no run: run\.json"):
        read_run(tmp_path)


def test_a_damaged_record_says_which_file(tmp_path: Path) -> None:
    write_run(tmp_path, a_run())
    (tmp_path / "run.json").write_text('{"consumers": [], "speed": 1}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"run\.json is not a run record"):
        read_run(tmp_path)
