"""Which differences cross two clocks."""

from __future__ import annotations

from typing import Any

from shardlane_lab.report.clock import ClockCheck, clock_checks
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, record, sample


def checks(**changes: Any) -> list[ClockCheck]:
    samples = {
        POLLER.label: [sample(0), sample(1, latency_ms=-4.0)],
        FAN_OUT.label: [sample(0, latency_ms=20.0)],
    }
    return list(clock_checks(record(POLLER, FAN_OUT, **changes), samples))


def test_one_machine_has_one_clock() -> None:
    found = checks(target="local")
    assert [each.difference for each in found] == [
        "send → arrival",
        "arrival → receive",
        "send → receive",
    ]
    assert not any(each.crosses for each in found)
    assert all(each.labels == (POLLER.label, FAN_OUT.label) for each in found)


def test_the_smallest_and_the_negative_ones_are_counted() -> None:
    arrival = checks(target="simulated")[1]
    assert (arrival.smallest_ms, arrival.negatives, arrival.count) == (-4.0, 1, 3)


def test_on_aws_only_a_workstations_own_round_trip_is_of_one_clock() -> None:
    crossing = {(each.difference, each.labels): each.crosses for each in checks(target="aws")}
    assert crossing == {
        ("send → arrival", (POLLER.label, FAN_OUT.label)): True,
        ("arrival → receive", (POLLER.label,)): True,
        ("arrival → receive", (FAN_OUT.label,)): True,
        ("send → receive", (POLLER.label,)): False,
        ("send → receive", (FAN_OUT.label,)): True,
    }


def test_a_producer_in_the_region_is_on_a_host_of_its_own() -> None:
    found = checks(target="aws", environment={"producer": "lambda"})
    assert all(each.crosses for each in found)
    assert found[0].clocks == ("producing function", "Kinesis")


def test_consumers_without_samples_are_left_out() -> None:
    found = clock_checks(record(POLLER, FAN_OUT), {POLLER.label: [sample(0)]})
    assert {each.labels for each in found} == {(POLLER.label,)}
    assert clock_checks(record(POLLER), {}) == ()
