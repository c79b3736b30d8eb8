"""``shardlane-lab run``: one experiment on this machine."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from shardlane_lab import experiment_file
from shardlane_lab.cli.options import add_app, positive_seconds, template
from shardlane_lab.experiment import Experiment
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.run_record import SAMPLES, write_run
from shardlane_lab.sample import Sample


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run an experiment on this machine and report it",
        description="Runs an experiment against the local Kinesis and the local Lambda, prints "
        "the tables and writes run.json, samples.jsonl, metrics.jsonl and report.html.",
    )
    parser.add_argument(
        "experiment",
        help=f"a TOML file, or one that ships with the lab: {', '.join(experiment_file.shipped())}",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds, help="how long to send, instead of what the file says"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    chosen = experiment_file.load(experiment_file.find(given.experiment))
    status = run_into(given.out, chosen, template(given), given.seconds)
    from shardlane_lab.report.write import render_text, write_report

    print(render_text([given.out]))
    write_report([given.out], given.out / "report.html")
    print(f"report:  {given.out / 'report.html'}\nsamples: {given.out / 'samples.jsonl'}")
    return status


def run_into(
    folder: Path, chosen: Experiment, deployed: Template, seconds: float | None = None
) -> int:
    """Runs the experiment and writes the run to ``folder``. 0 if the run is complete, else 1.

    What was measured is kept whatever happens: after a Ctrl-C (which goes on as
    ``KeyboardInterrupt``) all of it, after a kill the samples up to then.
    """
    from shardlane_lab.local_run import LocalRun
    from shardlane_lab.progress import Progress

    if seconds is not None:
        chosen = chosen.shortened(seconds)
    with Progress(chosen.name) as progress:
        local = LocalRun(chosen, deployed, progress, lambda sample: journal.write(line_of(sample)))
        write_run(folder, local.result())
        try:
            with (folder / SAMPLES).open("w", encoding="utf-8", buffering=1) as journal:
                asyncio.run(local.run())
        finally:
            write_run(folder, local.result())
    return 0 if local.result().record.complete else 1


def line_of(sample: Sample) -> str:
    return sample.to_json() + "\n"
