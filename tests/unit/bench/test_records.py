"""The judge of the benchmarks' readers finds what is missing, out of order or made up."""

from __future__ import annotations

import pytest

from bench.peers.records import Put, Verdict, judged

PUTS = [Put(n, f"key-{n % 2}", str(10**55 + n), 0.0) for n in range(6)]
SEEN = [f"{put.sequence_number} {put.key}" for put in PUTS]


def test_every_record_once_and_in_order_holds() -> None:
    assert judged(PUTS, SEEN) == Verdict(6, 6, 0, 0, 0)
    assert judged(PUTS, SEEN).holds


def test_a_payload_names_its_record_as_well() -> None:
    assert judged(PUTS, [f"{put.number} {put.key} ..." for put in PUTS]).holds


def test_keys_may_overtake_each_other() -> None:
    assert judged(PUTS, [*SEEN[::2], *SEEN[1::2]]).holds


def test_a_record_may_come_twice_and_then_late() -> None:
    verdict = judged(PUTS, [*SEEN, SEEN[0]])
    assert verdict.holds
    assert (verdict.records, verdict.different) == (7, 6)


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        (SEEN[1:], Verdict(5, 5, 1, 0, 0)),
        ([SEEN[2], SEEN[0], *SEEN[3:], SEEN[1]], Verdict(6, 6, 0, 2, 0)),
        ([*SEEN, "7 key-1"], Verdict(6, 6, 0, 0, 1)),
    ],
    ids=["missing", "out of order", "made up"],
)
def test_what_breaks_the_contract_does_not_hold(lines: list[str], verdict: Verdict) -> None:
    assert judged(PUTS, lines) == verdict
    assert not verdict.holds
