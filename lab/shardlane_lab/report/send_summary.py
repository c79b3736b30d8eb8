"""The way from the producer into the service, which all consumers share. Milliseconds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.percentile import distribution
from shardlane_lab.published import PublishedRound
from shardlane_lab.report.basis import basis
from shardlane_lab.report.compared import Compared, Statistic, statistics_of
from shardlane_lab.report.consumer_summary import FIRST_SEQ
from shardlane_lab.run_record import RunRecord
from shardlane_lab.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSummary:
    to_arrival: Mapping[Statistic, Compared]
    """Without the first put; each record once, whoever received it."""
    count: int
    first_to_arrival: Compared
    """The first record's own way, connection set-up included."""
    first_put_ms: float | None
    """How long the first put call took for the producer."""


def summarise_send(
    record: RunRecord, samples: Iterable[Sample], published: PublishedRound
) -> SendSummary:
    """``samples`` may be of all consumers: a record counts once."""
    first: list[float] = []
    later: dict[Hashable, float] = {}
    for sample in samples:
        if sample.seq == FIRST_SEQ:
            first.append(sample.send_to_arrival_ms)
        else:
            later[(sample.seq, sample.arrival_ms)] = sample.send_to_arrival_ms
    values = statistics_of(distribution(later.values()))
    beside = published.send_to_arrival
    drawn = basis(record, drawn=True)
    return SendSummary(
        to_arrival={name: Compared(each, drawn, beside.get(name)) for name, each in values.items()},
        count=len(later),
        first_to_arrival=_first(record, first, beside.get("first_record")),
        first_put_ms=record.first_put_ms,
    )


def _first(record: RunRecord, times_ms: Sequence[float], published: float | None) -> Compared:
    """Connection set-up is nowhere drawn or modelled: off AWS it is this machine's own."""
    on_aws = record.target == "aws"
    return Compared(
        min(times_ms, default=None),
        "measured" if on_aws else "local",
        published,
        comparable=on_aws,
    )
