"""Channel depth and lag: figures, and the points of their plots."""

from __future__ import annotations

from dataclasses import replace

from shardlane_lab.gauge import Gauge
from shardlane_lab.report.gauge_summary import gauge_summaries, gauges_by_label
from shardlane_lab.report.plot.gauge_line import MOST_POINTS, highest
from shardlane_lab.run_record import ConsumerRecord
from tests.unit.report.samples_by_hand import run

LIBRARY = ConsumerRecord(label="library", kind="shardlane-polling")


def look(at_ms: float, depth: int, lag_ms: float, label: str = "library") -> Gauge:
    return Gauge(label=label, at_ms=at_ms, channel_depth=depth, lag_ms=lag_ms, unsettled=depth + 1)


def test_figures_by_hand() -> None:
    gauges = [look(2000, 64, 900.0), look(1000, 0, 100.0), look(3000, 2, 200.0)]
    gauges.append(look(1000, 9, 9.0, label="a stranger"))
    measured = replace(run([], LIBRARY), gauges=gauges)
    assert [each.at_ms for each in gauges_by_label(measured)["library"]] == [1000, 2000, 3000]
    (found,) = gauge_summaries(measured)
    assert (found.looks, found.depth_mean, found.depth_max) == (3, 22.0, 64)
    assert (found.lag_p50_ms, found.lag_p99_ms, found.lag_max_ms) == (200.0, 900.0, 900.0)
    assert (found.unsettled_max, found.keys_aside_max) == (65, 0)


def test_a_run_without_gauges_has_no_figures() -> None:
    assert gauge_summaries(run([], LIBRARY)) == ()


def test_a_thinned_line_keeps_every_peak() -> None:
    points = [(float(second), float(second % 97)) for second in range(5000)]
    points[1234] = (1234.0, 9999.0)
    found = highest(points)
    assert len(found) == MOST_POINTS
    assert (1234.0, 9999.0) in found
    assert found == sorted(found)
    assert highest(points[:10]) == points[:10]
