"""Which differences of times cross two clocks, and the smallest ones: a difference that should be
positive and is not shows how far the clocks disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.run_record import Kind, RunRecord
from shardlane_lab.sample import Sample

DIFFERENCES = ("send → arrival", "arrival → receive", "send → receive")


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """One difference of two times, over all consumers whose clocks are the same. Milliseconds."""

    difference: str
    clocks: tuple[str, str]
    """Whose clock gave the earlier and whose the later time."""
    labels: tuple[str, ...]
    """The consumers whose samples it was taken from."""
    count: int
    smallest_ms: float
    negatives: int

    @property
    def crosses(self) -> bool:
        return self.clocks[0] != self.clocks[1]


@dataclass(frozen=True, slots=True)
class _Clocks:
    producer: str
    service: str
    consumer: str


def clock_checks(
    record: RunRecord, samples_by_label: Mapping[str, Sequence[Sample]]
) -> tuple[ClockCheck, ...]:
    """Consumers without samples are left out."""
    values: defaultdict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(dict)
    for consumer in record.consumers:
        samples = samples_by_label.get(consumer.label)
        if samples:
            for where, differences in _differences(_clocks(record, consumer.kind), samples):
                values[where][consumer.label] = differences
    order = sorted(values, key=lambda where: DIFFERENCES.index(where[0]))
    return tuple(_check(where, values[where]) for where in order)


def _check(where: tuple[str, str, str], by_label: Mapping[str, Sequence[float]]) -> ClockCheck:
    name, earlier, later = where
    values = [value for each in by_label.values() for value in each]
    return ClockCheck(
        difference=name,
        clocks=(earlier, later),
        labels=tuple(by_label),
        count=len(values),
        smallest_ms=min(values),
        negatives=sum(value < 0 for value in values),
    )


def _differences(
    clocks: _Clocks, samples: Sequence[Sample]
) -> Iterable[tuple[tuple[str, str, str], list[float]]]:
    sent, arrived, received = DIFFERENCES
    yield (
        (sent, clocks.producer, clocks.service),
        [sample.send_to_arrival_ms for sample in samples],
    )
    yield (
        (arrived, clocks.service, clocks.consumer),
        [sample.arrival_to_receive_ms for sample in samples],
    )
    yield (
        (received, clocks.producer, clocks.consumer),
        [sample.send_to_receive_ms for sample in samples],
    )


def _clocks(record: RunRecord, kind: Kind) -> _Clocks:
    """On AWS the producer is this workstation unless the environment says ``producer: lambda``;
    two functions run on two hosts, so even their clocks are two."""
    if record.target == "local":
        return _Clocks("this machine", "this machine", "this machine")
    if record.target == "simulated":
        return _Clocks("virtual", "virtual", "virtual")
    in_region = record.environment.get("producer") == "lambda"
    return _Clocks(
        producer="producing function" if in_region else "workstation",
        service="Kinesis",
        consumer="function" if kind.startswith("lambda-") else "workstation",
    )
