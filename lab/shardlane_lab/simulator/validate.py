"""The model against the published measurement: fitted to Round 1, it has to predict Round 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from shardlane_lab import experiment_file
from shardlane_lab.percentile import percentile
from shardlane_lab.published import PublishedRound, published_round
from shardlane_lab.report.compared import Statistic
from shardlane_lab.run_record import Kind
from shardlane_lab.simulator.bounds import SURFACED_FACTOR, bound
from shardlane_lab.simulator.figures import Figures
from shardlane_lab.simulator.from_experiment import load_of, readers_of
from shardlane_lab.simulator.parameters import H0, H1, Parameters
from shardlane_lab.simulator.seeds import Setting, run_settings

ROUNDS = {"1": "round-1", "2": "round-2"}
"""Published round and the experiment that reproduces it."""
COMPARED: tuple[Statistic, ...] = ("p50", "p90", "p99", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One figure over all seeds beside the published one (or the published range)."""

    round: str
    calibration: str
    label: str
    name: str
    """``p50`` …, or what is counted."""
    median: float
    low: float
    high: float
    """5th and 95th percentile over the seeds."""
    published: tuple[float, float]
    """Lowest and highest; the same twice where one value was published."""
    allowed: tuple[float, float] | None
    """Between these the median has to be; None: shown, not gated."""

    @property
    def ratio(self) -> float | None:
        lowest, highest = self.published
        return self.median / lowest if lowest and lowest == highest else None

    @property
    def holds(self) -> bool:
        """True if it is not gated."""
        return self.allowed is None or self.allowed[0] <= self.median <= self.allowed[1]


@dataclass(frozen=True, slots=True)
class Validation:
    seeds: int
    cells: tuple[Cell, ...]

    @property
    def gated(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.allowed is not None]

    @property
    def failed(self) -> list[Cell]:
        return [cell for cell in self.gated if not cell.holds]

    def of(self, round_name: str, calibration: str) -> list[Cell]:
        return [
            cell
            for cell in self.cells
            if cell.round == round_name and cell.calibration == calibration
        ]


def round_setting(round_name: str, parameters: Parameters) -> Setting:
    """A published round as the experiment file that ships describes it."""
    described = experiment_file.load(experiment_file.find(ROUNDS[round_name]))
    return Setting(
        load=load_of(described), readers=tuple(readers_of(described)), parameters=parameters
    )


def validate(
    seeds: int,
    *,
    processes: int | None = None,
    calibrations: Sequence[Parameters] = (H0, H1),
    on_progress: Callable[[float], None] = lambda share: None,
) -> Validation:
    """Raises ``ValueError`` for fewer than one seed."""
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1: {seeds}")
    pairs = [(name, parameters) for parameters in calibrations for name in ROUNDS]
    settings = [round_setting(name, parameters) for name, parameters in pairs]
    runs = run_settings(settings, seeds, processes=processes, on_progress=on_progress)
    cells = [
        cell
        for (name, parameters), setting, found in zip(pairs, settings, runs, strict=True)
        for cell in _cells(Comparison(name, parameters.label, setting, found))
    ]
    return Validation(seeds, tuple(cells))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One round under one calibration: what was published and what every seed gave."""

    round: str
    calibration: str
    setting: Setting
    found: Sequence[Figures]

    @property
    def published(self) -> PublishedRound:
        return published_round(self.round)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return {reader.label: reader.kind for reader in self.setting.readers}

    def cell(
        self,
        label: str,
        name: str,
        values: Sequence[float],
        published: tuple[float, float],
        allowed: tuple[float, float] | None,
    ) -> Cell:
        ordered = sorted(values)
        return Cell(
            round=self.round,
            calibration=self.calibration,
            label=label,
            name=name,
            median=median(ordered),
            low=percentile(ordered, 5),
            high=percentile(ordered, 95),
            published=published,
            allowed=allowed,
        )


def _cells(given: Comparison) -> Iterator[Cell]:
    for label, kind in given.kinds.items():
        yield from _latency_cells(given, label, kind)
    yield from _count_cells(given)


def _latency_cells(given: Comparison, label: str, kind: Kind) -> Iterator[Cell]:
    """The model cannot tell readers of one kind apart, so the published one is compared with all
    of them: three pollers are three times as many runs."""
    alike = [other for other, its_kind in given.kinds.items() if its_kind == kind]
    beside = given.published.arrival_to_receive[label]
    for name in COMPARED:
        target = beside[name]
        share = bound(given.round, given.calibration, kind, name)
        allowed = None if share is None else (target * (1 - share), target * (1 + share))
        values = [
            float(getattr(each.latency_ms[other], name)) for each in given.found for other in alike
        ]
        yield given.cell(label, name, values, (target, target), allowed)


def _count_cells(given: Comparison) -> Iterator[Cell]:
    ranges = given.published.per_minute
    gated = given.round == "2" and given.calibration == "H1"
    throttled = ranges["ReadProvisionedThroughputExceeded_sum"]
    yield given.cell(
        "all readers",
        "throttles/min",
        [each.throttled_per_minute for each in given.found],
        throttled,
        throttled if gated else None,
    )
    surfaced = float(sum(given.published.surfaced_throttles.values()))
    yield given.cell(
        "pollers",
        "surfaced",
        [float(sum(each.surfaced.values())) for each in given.found],
        (surfaced, surfaced),
        (surfaced / SURFACED_FACTOR, surfaced * SURFACED_FACTOR) if gated else None,
    )
    yield given.cell(
        "all readers",
        "successes/min",
        [each.succeeded_per_minute for each in given.found],
        ranges["GetRecords.Success_sum"],
        None,
    )
    yield given.cell(
        "lambda-standard",
        "iterator age",
        [each.iterator_age_ms["lambda-standard"] for each in given.found],
        ranges["IteratorAge_average_standard_ms"],
        None,
    )
