"""Gathers what the processes and functions of a run say, and knows when everything has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shardlane_lab.gauge import Gauge
from shardlane_lab.sample import Sample, sample_from


class Collector:
    """The state of a run that is going on. Not thread-safe: one loop feeds it."""

    def __init__(
        self, run: str, labels: Iterable[str], journal: Callable[[Sample], object] | None = None
    ) -> None:
        """``journal`` is told of every sample as it comes."""
        self._run = run
        self._journal = journal
        self.samples: dict[str, list[Sample]] = {label: [] for label in labels}
        self._seen: dict[str, set[int]] = {label: set() for label in self.samples}
        self.sent: set[int] = set()
        self.started_ms: float | None = None
        self.first_put_ms: float | None = None
        self.surfaced_throttles: Counter[str] = Counter()
        self.resends = 0
        self.producer_failures = 0
        self.poison = 0
        """Records sent that no handler can read; they have no number and are not waited for."""
        self.gauges: list[Gauge] = []
        self.remarks: list[str] = []
        """What a person should hear about: unreadable records, interrupted subscriptions."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Takes one event of a process. An unknown one raises ``ValueError``: a process and the
        collector that disagree would lose data without a word."""
        values = dict(event)
        match values.pop("event"):
            case "sample":
                self.sample(values)
            case "gauge":
                self.gauges.append(Gauge(**values))
            case "throttled":
                self.surfaced_throttles[values["label"]] += 1
            case "started":
                self.started_ms = values["start_ms"]
            case "sent":
                self.sent.add(values["seq"])
                if self.first_put_ms is None:
                    self.first_put_ms = values["put_ms"]
            case "poisoned":
                self.poison += 1
            case "resend":
                self.resends += 1
            case "not-sent":
                self.producer_failures += 1
                self.remarks.append(f"record {values['seq']} was not sent: {values['reason']}")
            case "unreadable" | "interrupted" as what:
                self.remarks.append(f"{what}: {values}")
            case unknown:
                raise ValueError(f"unknown event {unknown!r}: {values}")

    def sample(self, values: Mapping[str, Any]) -> None:
        sample = sample_from({**values, "run": self._run})
        if sample.label not in self.samples:
            self.remarks.append(f"a sample of {sample.label!r}, who is no consumer of this run")
            return
        self.samples[sample.label].append(sample)
        self._seen[sample.label].add(sample.seq)
        if self._journal is not None:
            self._journal(sample)

    @property
    def received(self) -> int:
        """Samples of all consumers so far."""
        return sum(len(samples) for samples in self.samples.values())

    def missing(self, label: str) -> int:
        """How many records that were sent this consumer has not shown yet."""
        return len(self.sent - self._seen[label])

    @property
    def all_arrived(self) -> bool:
        return all(self.missing(label) == 0 for label in self.samples)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come: all have arrived, or what has not was given up with a
        poison record."""
        return self.all_arrived or self.poison > 0

    def all_samples(self) -> list[Sample]:
        """Every sample, by label and then in the order of receipt."""
        return [sample for samples in self.samples.values() for sample in samples]
