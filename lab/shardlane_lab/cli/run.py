"""``shardlane-lab run``: one experiment, on this machine, in virtual time or on AWS."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from shardlane_lab import experiment_file
from shardlane_lab.cli import run_aws
from shardlane_lab.cli.options import add_app, positive_seconds, template
from shardlane_lab.errors import LabError
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_file import Study
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.run_folders import Journal

Play = Callable[[Path, Experiment], bool]
"""Runs one experiment into a folder; whether the run is complete."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run an experiment locally, in virtual time or on AWS, and report it",
        description="Runs an experiment, prints the tables and writes run.json, samples.jsonl, "
        "metrics.jsonl and report.html; variants of an experiment run one after the other, into "
        "a folder each. A run that is stopped keeps what it has.",
    )
    parser.add_argument(
        "experiment",
        help=f"a TOML file, or one that ships with the lab: {', '.join(experiment_file.shipped())}",
    )
    parser.add_argument(
        "--target",
        choices=("local", "simulated", "aws"),
        default="local",
        help="local: the local Kinesis and Lambda in real time; simulated: the same code in "
        "virtual time; aws: the deployed stacks (default: local)",
    )
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        help="how long to send, instead of what the file says; its course is stretched with it",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    simulated = parser.add_argument_group("simulated")
    simulated.add_argument(
        "--model",
        choices=("service", "fast"),
        default="service",
        help="service: the product's own code on the service's model; fast: the event model that "
        "`validate` and `plan` use (default: service)",
    )
    simulated.add_argument(
        "--calibration", choices=("H0", "H1"), default="H0", help="of the retries, see `validate`"
    )
    run_aws.add_options(parser)
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    study = experiment_file.load_study(experiment_file.find(given.experiment))
    if given.seconds is not None:
        study = study.shortened(given.seconds)
    play = _play(given, study)
    complete = True
    folders = []
    for variant in study.variants:
        folders.append(given.out / variant.name)
        complete &= play(folders[-1], variant.experiment)
    _report(given.out, folders)
    return 0 if complete else 1


def _play(given: argparse.Namespace, study: Study) -> Play:
    if given.target == "simulated":
        if given.model == "fast":
            return lambda folder, chosen: run_fast(folder, chosen, given.calibration)
        return lambda folder, chosen: run_simulated(folder, chosen, given.calibration)
    if given.model == "fast":
        raise LabError("--model fast is for --target simulated")
    if given.target == "aws":
        return run_aws.prepared(given, study)
    deployed = template(given)
    return lambda folder, chosen: run_local(folder, chosen, deployed)


def _report(out: Path, folders: list[Path]) -> None:
    from shardlane_lab.report.write import render_text, write_report

    print(render_text(folders))
    write_report(folders, out / "report.html")
    print(f"report:  {out / 'report.html'}")
    for folder in folders:
        print(f"samples: {folder / 'samples.jsonl'}")


def run_local(folder: Path, chosen: Experiment, deployed: Template) -> bool:
    from shardlane_lab.local_run import LocalRun
    from shardlane_lab.progress import Progress

    journal = Journal(folder)
    with Progress(chosen.name) as progress:
        local = LocalRun(chosen, deployed, progress, journal.take)
        return journal.keep(lambda: asyncio.run(local.run()), local.result).record.complete


def run_simulated(folder: Path, chosen: Experiment, calibration: str) -> bool:
    from shardlane_lab.progress import Progress
    from shardlane_lab.simulated.run import SimulatedRun
    from shardlane_lab.virtual_time import run_virtual

    journal = Journal(folder)
    with Progress(chosen.name) as progress:
        simulated = SimulatedRun(chosen, progress, journal.take, calibration)
        run = journal.keep(lambda: run_virtual(simulated.run()), simulated.result)
        return run.record.complete


def run_fast(folder: Path, chosen: Experiment, calibration: str) -> bool:
    from shardlane_lab.run_record import write_run
    from shardlane_lab.simulator.parameters import CALIBRATIONS
    from shardlane_lab.simulator.run import simulate

    run = simulate(chosen, seed=chosen.service.seed, calibration=CALIBRATIONS[calibration])
    write_run(folder, run)
    return run.record.complete


def run_into(
    folder: Path, chosen: Experiment, deployed: Template, seconds: float | None = None
) -> int:
    """Runs on this machine; 0 if the run is complete, else 1."""
    if seconds is not None:
        chosen = chosen.shortened(seconds)
    return 0 if run_local(folder, chosen, deployed) else 1
