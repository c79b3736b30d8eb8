"""A consumer's samples sorted into first deliveries and repetitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from shardlane_lab.sample import Sample


@dataclass(frozen=True, slots=True)
class Deliveries:
    """``first`` holds each record of the stream once, in the order of receipt."""

    first: tuple[Sample, ...]
    duplicates: int
    """Deliveries of a record that had come before (same sequence number)."""
    sent_twice: int
    """Records of the stream whose ``seq`` is there under another sequence number too: the
    producer resent, the consumer did nothing wrong."""


def deliveries(samples: Iterable[Sample]) -> Deliveries:
    first: dict[Hashable, Sample] = {}
    received = 0
    for sample in sorted(samples, key=lambda each: each.recv_ms):
        received += 1
        first.setdefault(_identity(sample), sample)
    distinct_seqs = {sample.seq for sample in first.values()}
    return Deliveries(
        first=tuple(first.values()),
        duplicates=received - len(first),
        sent_twice=len(first) - len(distinct_seqs),
    )


def _identity(sample: Sample) -> Hashable:
    """A sequence number is unique within its shard only. Samples without one (older runs) are
    told apart by their arrival: two puts of one ``seq`` arrive at two times."""
    if sample.sequence_number is None:
        return (sample.seq, sample.arrival_ms)
    return (sample.shard_id, sample.sequence_number)
