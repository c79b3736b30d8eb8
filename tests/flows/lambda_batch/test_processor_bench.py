"""The benchmarks run and say what they found; how fast is for a quiet machine to tell."""

from __future__ import annotations

import pytest

from bench import processor
from bench.cold_import import layer_bytes
from bench.processor import Result


def test_both_processors_take_the_benchmarks_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "IO_S", 0.0)
    for pair in (processor.decoding(), processor.waiting()):
        result = processor.compare(
            "few", pair, processor.event_of(4, 2), rounds=1, calls=1, most_ratio=1.0
        )
        assert result.ours_s > 0 < result.powertools_s
        assert result.records == 4


def test_a_target_that_is_missed_is_said_so() -> None:
    assert "MISSED" in str(Result("slow", 2.0, 1.0, 100, most_ratio=1.0))
    assert "met" in str(Result("fast", 1.0, 2.0, 100, most_ratio=1.0))


def test_the_layer_is_small() -> None:
    zipped, size = layer_bytes()
    assert 50_000 < zipped < size < 2_000_000
