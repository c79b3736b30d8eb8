"""``shardlane``: arguments in, one call, an exit status out.

A command imports what it runs when it runs, so that help and errors come at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from shardlane.cli import consume, lint, parked, peek, redrive, stuck
from shardlane.cli.exit_status import exit_status
from shardlane.errors import ShardlaneError


class Command(Protocol):
    """A module of this package: one command."""

    @property
    def add_to(self) -> Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None]:
        """Adds its parser; its default ``execute`` takes the parsed arguments and returns the
        exit status."""


COMMANDS: tuple[Command, ...] = (
    stuck,
    peek,
    parked,
    redrive,
    lint,
    consume,
)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="shardlane",
        description="Find what holds up a Kinesis stream's consumers, and set it going again.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or what the command says; 2 with a message for a problem that a person can mend;
    130 after Ctrl-C."""
    given = parser().parse_args(arguments)
    return exit_status("shardlane", lambda: int(given.execute(given)), ShardlaneError)


if __name__ == "__main__":
    sys.exit(main())
