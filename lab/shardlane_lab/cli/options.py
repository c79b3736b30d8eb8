"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from shardlane_lab.assembly import synthesize
from shardlane_lab.errors import AssemblyError, LabError
from shardlane_lab.local_lambda.template_values import Template

ASSEMBLY = Path("out/assembly")


def positive_seconds(text: str) -> float:
    """An argparse type: seconds above 0 and at most a day."""
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} s is not above 0 and at most 86400")
    return seconds


def add_app(parser: argparse.ArgumentParser) -> None:
    """``--app`` and ``--assembly``: where the template comes from."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--app",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder of the CDK app to synthesize, the one with cdk.json (default: this folder)",
    )
    source.add_argument(
        "--assembly",
        type=Path,
        metavar="DIR",
        help="a cloud assembly that is there already (cdk.out), instead of synthesizing",
    )
    parser.add_argument(
        "-c",
        "--context",
        type=_context,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="context of the app, as `cdk synth -c` takes it, e.g. stage=prod",
    )


def _context(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def template(given: argparse.Namespace, context: Mapping[str, object] | None = None) -> Template:
    """The template that the options name, synthesized anew (with ``context`` over theirs) unless
    an assembly was given."""
    from shardlane_lab.local_lambda.template import read_assembly

    return read_assembly(assembly_folder(given, context))


def assembly_folder(given: argparse.Namespace, context: Mapping[str, object] | None = None) -> Path:
    """The cloud assembly that the options name, synthesized anew unless it was given."""
    if given.assembly is None:
        return synthesize(given.app, ASSEMBLY, {**dict(given.context), **(context or {})})
    if given.context:
        raise LabError("--context is for synthesizing: it goes with --app, not with --assembly")
    folder: Path = given.assembly
    if not (folder / "manifest.json").is_file():
        raise AssemblyError(f"{folder} is no cloud assembly: manifest.json is missing")
    return folder
