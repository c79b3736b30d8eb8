"""Batch sizes of a consumer: how many records came in batches of each size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from shardlane_lab.published import PublishedRound
from shardlane_lab.report.compared import Basis, Compared
from shardlane_lab.sample import Sample


@dataclass(frozen=True, slots=True)
class BatchSize:
    """The share is compared, not the number: runs differ in length."""

    size: int
    records: int
    share: Compared
    """Of all records of the consumer, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Batches:
    sizes: tuple[BatchSize, ...]
    """Ascending; only sizes that occurred."""
    largest: Compared


def batches(
    label: str, samples: Iterable[Sample], basis: Basis, published: PublishedRound
) -> Batches | None:
    """None without samples."""
    records = Counter(sample.batch for sample in samples)
    if not records:
        return None
    total = records.total()
    shares = _published_shares(label, published)
    largest = published.largest_batch.get(label)
    return Batches(
        sizes=tuple(
            BatchSize(size, count, Compared(count / total, basis, shares.get(size)))
            for size, count in sorted(records.items())
        ),
        largest=Compared(max(records), basis, largest),
    )


def _published_shares(label: str, published: PublishedRound) -> dict[int, float]:
    if not published.records:
        return {}
    sizes = published.records_in_batches_of.get(label, {})
    return {size: records / published.records for size, records in sizes.items()}
