"""One reader's side of a run: from the records it read to what it handled, and when."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shardlane_lab.simulator.arrivals import Arrivals, Load, Times
from shardlane_lab.simulator.invocation import Stage, handle
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.push import pushed_ms
from shardlane_lab.simulator.reader import Reader
from shardlane_lab.simulator.shared_reads import Poller, StandardPoll

Polls = Poller | StandardPoll


def _none() -> Times:
    return np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reader's side. By-record arrays may be shorter than the stream: the rest was not
    received before the model gave up waiting."""

    reader: Reader
    received_ms: Times
    done_ms: Times
    """When the handler had finished the record."""
    batch: NDArray[np.int64]
    answered_ms: Times = field(default_factory=_none)
    """GetRecords calls that the service answered …"""
    refused_ms: Times = field(default_factory=_none)
    """… and refused. Empty for enhanced fan-out."""
    surfaced_ms: Times = field(default_factory=_none)
    """Throttles that got past boto3's retries."""
    quota_left: int | None = None
    """Retry tokens at the end, and …"""
    quota_lowest: int | None = None
    """… at the worst moment; None unless it is a poller."""
    invoked_ms: Times = field(default_factory=_none)
    """Invocations; empty unless it is a mapping."""
    iterator_age_ms: Times = field(default_factory=_none)
    """By invocation: the age of its batch's oldest record."""
    duration_ms: Times = field(default_factory=_none)
    """Time at work: by invocation, or by record of a boto3 reader whose handler takes time."""


class Course:
    """What every reader of one run has in common."""

    def __init__(
        self, load: Load, came: Arrivals, parameters: Parameters, rng: np.random.Generator
    ) -> None:
        self._load = load
        self._came = came
        self._parameters = parameters
        self._rng = rng

    def reading(self, reader: Reader, polls: Polls | None) -> Reading:
        """``polls``: what the reader did in the kernel; None for enhanced fan-out."""
        if polls is None:
            sdk_client = reader.kind == "boto3-efo"
            ready_ms = pushed_ms(
                self._came, self._parameters.delays, sdk_client=sdk_client, rng=self._rng
            )
        else:
            ready_ms = polls.log.receipts_ms()
        of = self._of_mapping if reader.is_mapping else self._of_loop
        return _with_calls(of(reader, ready_ms), polls)

    def _of_mapping(self, reader: Reader, ready_ms: Times) -> Reading:
        """Batches of the mapping, in as many lanes as ParallelizationFactor says."""
        before_s = self._parameters.polling.before_invoke_s if reader.shares_reads else 0.0
        stage = Stage(
            records_per_batch=reader.mapping.records_per_batch(self._load.record_bytes),
            window_ms=reader.mapping.window_ms,
            before_ms=before_s * 1000.0,
            overhead_ms=self._parameters.function_overhead_ms,
            handling=reader.handling,
        )
        handled = handle(
            ready_ms, self._lane(reader.mapping.parallelization, ready_ms), stage, self._rng
        )
        return Reading(
            reader=reader,
            received_ms=handled.received_ms,
            done_ms=handled.done_ms,
            batch=handled.batch,
            invoked_ms=handled.invoked_ms,
            iterator_age_ms=handled.invoked_ms - self._came.arrival_ms[handled.oldest],
            duration_ms=handled.duration_ms,
        )

    def _of_loop(self, reader: Reader, ready_ms: Times) -> Reading:
        """A process on boto3 handles one record at a time, or ``workers`` at once by key."""
        together = np.unique(ready_ms, return_counts=True)[1]
        batch = np.repeat(together, together)
        reading = Reading(reader=reader, received_ms=ready_ms, done_ms=ready_ms, batch=batch)
        if not reader.handling.per_record_ms:
            return reading
        stage = Stage(
            records_per_batch=1,
            window_ms=0.0,
            before_ms=0.0,
            overhead_ms=0.0,
            handling=replace(reader.handling, workers=1),
        )
        handled = handle(ready_ms, self._lane(reader.handling.workers, ready_ms), stage, self._rng)
        return replace(reading, done_ms=handled.done_ms, duration_ms=handled.duration_ms)

    def _lane(self, lanes: int, ready_ms: Times) -> NDArray[np.int64] | None:
        """Which lane each record is in: a key's own, drawn once, as a hash would."""
        if lanes == 1:
            return None
        of_key = self._rng.integers(0, lanes, self._load.keys)
        return of_key[self._came.keys[: len(ready_ms)]]


def _with_calls(reading: Reading, polls: Polls | None) -> Reading:
    if polls is None:
        return reading
    reading = replace(
        reading,
        answered_ms=np.array(polls.log.answered_ms),
        refused_ms=np.array(polls.log.refused_ms),
    )
    if not isinstance(polls, Poller):
        return reading
    return replace(
        reading,
        surfaced_ms=np.array(polls.surfaced_ms),
        quota_left=polls.client.quota,
        quota_lowest=polls.client.lowest_quota,
    )
