"""What breaks between the stream and the mapping costs time and nothing else."""

from __future__ import annotations

import pytest

from shardlane_lab.local_kinesis.faults import Fault, FaultKind, FaultPlan
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import succeed

BROKEN_READS = [
    Fault(kind=FaultKind.THROTTLE, operation="GetRecords", probability=0.3, burst=4),
    Fault(kind=FaultKind.INTERNAL_ERROR, operation="GetRecords", probability=0.3),
    Fault(kind=FaultKind.LOST_ANSWER, operation="GetRecords", probability=0.3),
    Fault(kind=FaultKind.LATENCY, operation="GetRecords", probability=0.3, ms=2_500),
    Fault(kind=FaultKind.EXPIRED_ITERATOR, probability=0.3),
    Fault(kind=FaultKind.EXPIRED_ITERATOR, times=1),
    Fault(kind=FaultKind.INTERNAL_ERROR, operation="GetShardIterator", times=2),
    Fault(kind=FaultKind.LOST_ANSWER, operation="ListShards", times=1),
]
BROKEN_PUSHES = [
    Fault(kind=FaultKind.EXCEPTION_FIRST, times=2),
    Fault(kind=FaultKind.EXCEPTION_FRAME, probability=0.3),
    Fault(kind=FaultKind.CUT_BETWEEN_FRAMES, probability=0.3),
    Fault(kind=FaultKind.CUT_INSIDE_FRAME, probability=0.3),
    Fault(kind=FaultKind.TRUNCATED_FRAME, probability=0.3),
    Fault(kind=FaultKind.CORRUPT_CRC, probability=0.3),
    Fault(kind=FaultKind.SILENCE, times=2),
    Fault(kind=FaultKind.INTERNAL_ERROR, operation="SubscribeToShard", times=2),
    Fault(kind=FaultKind.THROTTLE, operation="SubscribeToShard", times=2),
]
CASES = [("standard", each) for each in BROKEN_READS] + [("efo", each) for each in BROKEN_PUSHES]


@pytest.mark.parametrize(
    ("source", "fault"),
    CASES,
    ids=lambda each: each.kind.value if isinstance(each, Fault) else each,
)
@pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
def test_every_record_is_handled_in_order_and_once(
    kinesis_mapping: MappingTrials, source: str, fault: Fault, position: str
) -> None:
    """Nothing is sent twice either: what was taken in is where reading goes on."""
    trial = kinesis_mapping(
        succeed, source=source, faults=FaultPlan((fault,), seed=3), starting_position=position
    )
    sent = [str(number) for number in range(12)]
    for text in sent:
        trial.put(text)
        trial.run(4)
    trial.settle()
    assert trial.handled() == sent


@pytest.mark.parametrize("source", ["standard", "efo"])
def test_what_the_service_repeats_reaches_the_function_again(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    """At least once: a record that is read twice is two records to a mapping."""
    repeat = Fault(kind=FaultKind.DUPLICATE, times=1)
    trial = kinesis_mapping(succeed, source=source, faults=FaultPlan((repeat,)))
    trial.put("a")
    trial.settle()
    trial.run(2)
    trial.put("b")
    trial.settle()
    assert trial.handled() == ["a", "a", "b"]


def test_silence_is_noticed_after_35_seconds(kinesis_mapping: MappingTrials) -> None:
    silence = Fault(kind=FaultKind.SILENCE, times=1)
    trial = kinesis_mapping(succeed, source="efo", faults=FaultPlan((silence,)))
    trial.put("a")
    trial.settle()
    assert 35 <= trial.now_s < 42
