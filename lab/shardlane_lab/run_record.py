"""A finished (or stopped) run on disk: what every target writes and every report reads.

A run is a folder: ``run.json`` (this record), ``samples.jsonl`` (``sample.Sample``),
``metrics.jsonl`` (``metric.MinuteStatistic``) and, where a consumer of the library took part,
``gauges.jsonl`` (``gauge.Gauge``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from shardlane_lab.gauge import Gauge, read_gauges, write_gauges
from shardlane_lab.metric import MinuteStatistic, read_statistics, write_statistics
from shardlane_lab.sample import Sample, read_samples, write_samples

RECORD = "run.json"
SAMPLES = "samples.jsonl"
METRICS = "metrics.jsonl"
GAUGES = "gauges.jsonl"

Target = Literal["local", "aws", "simulated"]
Kind = Literal[
    "lambda-standard",
    "lambda-efo",
    "boto3-efo",
    "boto3-get-records",
    "shardlane-efo",
    "shardlane-polling",
]
"""``boto3-…`` are bare loops on boto3 like those of the published measurement, ``shardlane-…`` the
library's long-running consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRecord:
    """One consumer of the run. ``label`` is what its samples carry; ``kind`` how it reads."""

    label: str
    kind: Kind
    surfaced_throttles: int = 0
    """``ProvisionedThroughputExceededException``s that reached the consumer's own code, past the
    SDK's retries."""
    function: str | None = None
    """The Lambda function's name, for its metrics."""
    efo_consumer: str | None = None
    """The registered stream consumer's name, for its metrics."""
    mapping_uuid: str | None = None
    """The event source mapping's UUID, for its metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What was run, with what, and what the samples cannot say."""

    name: str
    """The experiment's name, e.g. ``round-1``."""
    title: str
    target: Target
    stream: str
    started_ms: float
    """Epoch ms of the first scheduled send; minute 0 of the metrics starts here."""
    seconds: float
    """How long the producer was to send."""
    rate_per_s: float
    sent: int
    """Distinct ``seq`` that the service accepted."""
    first_put_ms: float | None
    """Duration of the very first put (connection set-up included): shown apart."""
    resends: int = 0
    producer_failures: int = 0
    complete: bool = True
    """False when the run was stopped early or a part of it died."""
    published_round: str | None = None
    """Which round of ``published-latency.json`` this run reproduces."""
    consumers: tuple[ConsumerRecord, ...]
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What it ran on: versions, delays, limiter, seed, template parameters."""


@dataclass(frozen=True, slots=True)
class Run:
    record: RunRecord
    samples: list[Sample]
    statistics: list[MinuteStatistic]
    gauges: list[Gauge] = field(default_factory=list)


def write_run(folder: Path, run: Run) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).write_text(json.dumps(asdict(run.record), indent=2) + "\n", encoding="utf-8")
    write_samples(folder / SAMPLES, run.samples)
    write_statistics(folder / METRICS, run.statistics)
    if run.gauges:
        write_gauges(folder / GAUGES, run.gauges)


def read_run(folder: Path) -> Run:
    """Raises ``FileNotFoundError`` if ``folder`` holds no run, ``ValueError`` if it is damaged.

    Samples or metrics that were never written (the run died early) are none.
    """
    path = folder / RECORD
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no run: {path.name} is missing")
    values = json.loads(path.read_text(encoding="utf-8"))
    try:
        values["consumers"] = tuple(ConsumerRecord(**each) for each in values["consumers"])
        record = RunRecord(**values)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a run record: {error}") from error
    samples, metrics, gauges = folder / SAMPLES, folder / METRICS, folder / GAUGES
    return Run(
        record,
        list(read_samples(samples)) if samples.is_file() else [],
        read_statistics(metrics) if metrics.is_file() else [],
        read_gauges(gauges) if gauges.is_file() else [],
    )
