"""The experiment file: what is sent, who reads, and under which conditions."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from shardlane_lab.errors import ExperimentError
from shardlane_lab.run_record import Kind

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]

_KINDS_OF_TEMPLATE: tuple[Kind, ...] = ("lambda-standard", "lambda-efo")
"""Consumers that the template deploys once; the others are processes and may be several."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Load(_Table):
    """What the producer sends."""

    rate_per_s: float = Field(gt=0, le=1000)
    keys: int = Field(default=10, ge=1, le=1_000_000)
    """Partition keys, used in turn."""


class Consumer(_Table):
    """One consumer, or ``count`` alike."""

    kind: Kind
    count: int = Field(default=1, ge=1, le=100)
    interval_ms: float = Field(default=200, ge=0, le=60_000)
    """``boto3-get-records`` only: the pause after each call."""


class Service(_Table):
    """How the local Kinesis behaves."""

    delays: Literal["none", "measured"] = "measured"
    seed: int = 1


class Experiment(_Table):
    """A checked experiment. Times in seconds and milliseconds, as the fields say."""

    name: Name
    title: str
    seconds: float = Field(gt=0, le=86_400)
    published_round: Literal["1", "2"] | None = None
    load: Load
    consumers: tuple[Consumer, ...] = Field(min_length=1, strict=False)
    service: Service = Service()

    def labels(self) -> list[tuple[str, Consumer]]:
        """Every consumer with its label: the kind, numbered from 1 where there are several."""
        return [
            (consumer.kind if consumer.count == 1 else f"{consumer.kind}-{number}", consumer)
            for consumer in self.consumers
            for number in range(1, consumer.count + 1)
        ]


def shipped() -> dict[str, Path]:
    """The experiments that come with the lab, by name."""
    folder = Path(str(resources.files("shardlane_lab") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find(name_or_path: str) -> Path:
    """The file that a person named: a path, or the name of a shipped experiment, also written
    ``experiments/NAME.toml``. Raises ``ExperimentError`` listing the names otherwise."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    known = shipped()
    is_name = path.parent in (Path(), Path("experiments")) and path.suffix in ("", ".toml")
    if is_name and path.stem in known:
        return known[path.stem]
    raise ExperimentError(
        f"no experiment {name_or_path!r}: neither a file nor one of {', '.join(known)}"
    )


def load(path: Path) -> Experiment:
    """Reads and checks an experiment file. Raises ``ExperimentError`` with every problem."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{path}: not TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: not UTF-8 text: {error}") from error
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        raise ExperimentError(f"{path}:\n" + "\n".join(_problems(error))) from error
    _check_counts(path, experiment)
    return experiment


def _problems(error: ValidationError) -> list[str]:
    problems = []
    for each in error.errors():
        if each["type"] == "too_short" and each["input"]:
            continue  # said of a list whose items have problems of their own, which are listed
        field = ".".join(str(part) for part in each["loc"])
        found = "" if each["type"] == "missing" else f"; found {each['input']!r}"
        problems.append(f"  {field}: {each['msg']}{found}")
    return problems


def _check_counts(path: Path, experiment: Experiment) -> None:
    kinds = [consumer.kind for consumer in experiment.consumers]
    for position, consumer in enumerate(experiment.consumers):
        if kinds.count(consumer.kind) > 1:
            raise ExperimentError(
                f"{path}:\n  consumers: {consumer.kind!r} stands there "
                f"{kinds.count(consumer.kind)} times; write it once, with a count"
            )
        if consumer.kind in _KINDS_OF_TEMPLATE and consumer.count > 1:
            raise ExperimentError(
                f"{path}:\n  consumers.{position}.count: the template deploys one "
                f"{consumer.kind}; allowed is 1; found {consumer.count}"
            )
