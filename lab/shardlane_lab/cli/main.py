"""``shardlane-lab``: the command line of the lab. Arguments in, one call, an exit status out.

A command imports what it runs when it runs: help, errors and the local Kinesis come at once,
without the seconds that plots and models take to load.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from shardlane.cli.exit_status import exit_status
from shardlane_lab.cli import (
    dashboard,
    demo,
    invoke,
    kinesis,
    plan,
    poison,
    report,
    run,
    up,
    validate,
)
from shardlane_lab.errors import LabError

COMMANDS = (demo, run, report, dashboard, poison, plan, validate, up, invoke, kinesis)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="shardlane-lab",
        description="A local Kinesis with the service's limits, a local Lambda, and experiments "
        "that measure how late each kind of Kinesis consumer is.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or what the command says; 2 with a message for a problem that a person can mend;
    130 after Ctrl-C."""
    given = parser().parse_args(arguments)
    return exit_status("shardlane-lab", lambda: _execute(given), LabError)


def _execute(given: argparse.Namespace) -> int:
    try:
        return int(given.execute(given))
    except OSError as error:
        if error.filename is None:
            raise  # nothing that a person named
        raise LabError(f"{error.filename}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
