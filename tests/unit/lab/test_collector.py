"""What a run gathers, and when it has everything."""

import pytest

from shardlane_lab.collector import Collector


def sample_event(label: str, seq: int) -> dict[str, object]:
    return {
        "event": "sample",
        "label": label,
        "seq": seq,
        "sent_ms": 1,
        "arrival_ms": 2,
        "recv_ms": 3,
        "batch": 1,
    }


def test_all_have_arrived_when_each_consumer_has_shown_each_number_that_was_sent() -> None:
    collector = Collector("r", ["a", "b"])
    collector.event({"event": "started", "start_ms": 5.0})
    for seq in (0, 1):
        collector.event({"event": "sent", "seq": seq, "put_ms": 70 + seq})
    collector.event(sample_event("a", 0))
    collector.event(sample_event("a", 1))
    collector.event(sample_event("b", 1))
    collector.event(sample_event("b", 1))  # twice: counts as one number
    assert (collector.missing("a"), collector.missing("b")) == (0, 1)
    assert not collector.all_arrived
    collector.event(sample_event("b", 0))
    assert collector.all_arrived
    assert [(each.label, each.seq) for each in collector.all_samples()] == [
        ("a", 0),
        ("a", 1),
        ("b", 1),
        ("b", 1),
        ("b", 0),
    ]
    assert {each.run for each in collector.all_samples()} == {"r"}
    assert (collector.started_ms, collector.first_put_ms) == (5.0, 70)


def test_counts_of_trouble() -> None:
    collector = Collector("r", ["a"])
    for event in (
        {"event": "throttled", "label": "a"},
        {"event": "throttled", "label": "a"},
        {"event": "resend", "seq": 3, "reason": "x"},
        {"event": "not-sent", "seq": 3, "reason": "y"},
        {"event": "unreadable", "sequence_number": "1", "reason": "not JSON"},
    ):
        collector.event(event)
    assert collector.surfaced_throttles["a"] == 2
    assert (collector.resends, collector.producer_failures) == (1, 1)
    assert "record 3 was not sent: y" in collector.remarks
    assert any("not JSON" in remark for remark in collector.remarks)


def test_an_event_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown event 'surprise'"):
        Collector("r", ["a"]).event({"event": "surprise"})


def test_a_sample_of_a_stranger_is_remarked_on_not_counted() -> None:
    collector = Collector("r", ["a"])
    collector.event(sample_event("z", 0))
    assert collector.received == 0
    assert "'z'" in collector.remarks[0]
