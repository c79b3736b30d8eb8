"""The part of ``shardlane-lab run`` that is about AWS: what is asked and checked before."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from shardlane_lab.errors import LabError
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_file import Study
from shardlane_lab.run_folders import Journal

if TYPE_CHECKING:
    from shardlane_lab.aws.access import Access
    from shardlane_lab.aws.deployment import Deployment


def add_options(parser: argparse.ArgumentParser) -> None:
    aws = parser.add_argument_group("aws")
    aws.add_argument("--stage", default="dev", help="of the deployed stacks (default: dev)")
    aws.add_argument("--region", help="(default: as the environment or the profile says)")
    aws.add_argument("--profile", help="of the AWS configuration")
    aws.add_argument(
        "--load",
        choices=("here", "region"),
        default="here",
        help="who sends: this machine, or the load function in the region (default: here)",
    )
    aws.add_argument(
        "--prices", type=Path, metavar="FILE", help="a price table instead of the one that ships"
    )
    aws.add_argument("--yes", action="store_true", help="do not ask before it costs money")


def prepared(given: argparse.Namespace, study: Study) -> Callable[[Path, Experiment], bool]:
    """Checks everything that can be checked, says what it will cost and asks. Raises ``LabError``
    if something does not fit, or the answer is no."""
    from shardlane_lab.aws.access import checked_access
    from shardlane_lab.aws.deployment import find_deployment
    from shardlane_lab.aws.fitting import check_fits, facts_of
    from shardlane_lab.aws.registration import left_behind

    access = checked_access(given.region, given.profile)
    deployment = find_deployment(access.client("cloudformation"), given.stage)
    facts = facts_of(deployment, access.client("kinesis"), access.client("lambda"))
    in_region = given.load == "region"
    for variant in study.variants:
        check_fits(variant.experiment, deployment, facts, in_region=in_region)
    for name in left_behind(facts.registered, deployment.stream):
        print(f"Of another run, or left by one that was killed, and billed by the hour: {name}")
    print(f"Account {access.account}, stage {given.stage}, stream {deployment.stream}")
    _say_cost(given, study, access)
    if not given.yes:
        ask()
    return lambda folder, chosen: _run(folder, chosen, deployment, access, in_region=in_region)


def _say_cost(given: argparse.Namespace, study: Study, access: Access) -> None:
    from shardlane_lab.aws.cost import cost_text, run_cost
    from shardlane_lab.prices.price_table import read_prices, shipped_prices

    table = shipped_prices() if given.prices is None else read_prices(given.prices)
    prices = table.region(access.region)
    for variant in study.variants:
        if variant.name:
            print(f"{variant.name}:")
        print(cost_text(run_cost(variant.experiment, prices), prices))


def ask() -> None:
    """Raises ``LabError`` unless a person says yes."""
    if not sys.stdin.isatty():
        raise LabError("this costs money: say --yes, or run it on a terminal to be asked")
    if input("Run it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise LabError("not run")


def _run(
    folder: Path,
    chosen: Experiment,
    deployment: Deployment,
    access: Access,
    *,
    in_region: bool,
) -> bool:
    from shardlane_lab.aws.run import AwsRun
    from shardlane_lab.progress import Progress

    journal = Journal(folder)
    with Progress(chosen.name) as progress:
        aws = AwsRun(chosen, deployment, access, progress, journal.take, in_region=in_region)
        return journal.keep(lambda: asyncio.run(aws.run()), aws.result).record.complete
