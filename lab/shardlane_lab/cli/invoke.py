"""``shardlane-lab invoke``: one function, one event, in the local runtime."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from shardlane_lab.cli.options import add_app, template
from shardlane_lab.errors import LabError


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "invoke",
        help="invoke a function of the template with an event of your own",
        description="Runs the function in the real runtime client with the template's "
        "environment, layers, memory and timeout. The response goes to stdout, logs to stderr.",
    )
    parser.add_argument("function", help="the function's name, e.g. order-latency-efo")
    parser.add_argument("event", type=Path, help="a JSON file, e.g. tests/events/efo.json")
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    from shardlane_lab.local_lambda.invoke import invoke_once

    event = read_event(given.event)
    result = asyncio.run(invoke_once(template(given), given.function, event))
    for line in result.log_lines:
        print(line, file=sys.stderr)
    print(json.dumps(result.payload if result.error is None else result.error, indent=2))
    return 0 if result.error is None else 1


def read_event(path: Path) -> dict[str, Any]:
    """Raises ``LabError`` unless the file holds a JSON object."""
    try:
        event = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read the event {path}: {error.strerror}") from error
    except ValueError as error:
        raise LabError(f"the event {path} is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise LabError(
            f'the event {path} must be a JSON object such as {{"Records": [...]}}, '
            f"it is a {type(event).__name__}"
        )
    return event
