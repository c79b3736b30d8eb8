"""The shard's read limits in the model are those of the local service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_kinesis.limiter import LimiterShape, TokenBucket
from shardlane_lab.local_kinesis.limits import MIB, Limits
from shardlane_lab.simulator.gate import Bucket, LimiterGate, ReadGate, call_gate

GAPS = st.lists(st.floats(min_value=0, max_value=1500, allow_nan=False), max_size=80)


@given(gaps=GAPS, forced=st.sets(st.integers(0, 79)))
def test_the_one_step_bucket_decides_as_the_services_bucket(
    gaps: list[float], forced: set[int]
) -> None:
    ours, theirs = Bucket(5, 5), LimiterGate(TokenBucket(5, 5))
    now_ms = -3000.0
    for number, gap in enumerate(gaps):
        now_ms += gap
        if number in forced:
            ours.charge(now_ms, 1.0)
            theirs.charge(now_ms, 1.0)
        else:
            assert ours.take(now_ms) == theirs.take(now_ms)


def test_five_at_once_then_one_every_200_ms() -> None:
    gate = call_gate(Limits())
    passed = [gate.take(moment * 50.0) for moment in range(21)]
    assert passed.count(True) == 5 + 5


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (LimiterShape.TOKEN_BUCKET, Bucket),
        (LimiterShape.SLIDING_WINDOW, LimiterGate),
        (LimiterShape.FIXED_WINDOW, LimiterGate),
    ],
)
def test_every_shape_of_the_local_service_can_be_used(
    shape: LimiterShape, kind: type[object]
) -> None:
    gate = call_gate(Limits(get_records_shape=shape))
    assert isinstance(gate, kind)
    assert [gate.take(0.0) for _ in range(7)] == [True] * 5 + [False] * 2


def test_an_answer_of_10_mib_holds_up_the_next_five_seconds() -> None:
    gate = ReadGate(Limits(), most_bytes=100 * MIB)
    assert gate.take(0.0)
    gate.answered(0.0, 12 * MIB)  # 2 MiB were saved up, 10 MiB are owed
    assert not gate.take(4999.0)
    assert gate.take(5001.0)


def test_bytes_do_not_count_where_they_cannot_reach_the_limit() -> None:
    gate = ReadGate(Limits(), most_bytes=2 * MIB)
    assert gate.take(0.0)
    gate.answered(0.0, 2 * MIB)
    assert gate.take(1.0)


def test_no_limits_refuse_nothing() -> None:
    gate = ReadGate(Limits.unlimited(), most_bytes=1e12)
    gate.answered(0.0, 1e12)
    assert all(gate.take(0.0) for _ in range(1000))
