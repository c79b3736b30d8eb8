"""``shardlane lint``: what bites later in a template, or in an account."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shardlane.cli.account import account, add_account
from shardlane.cli.whole_number import whole_number
from shardlane.clock import SystemClock
from shardlane.operations.errors import OperationError

if TYPE_CHECKING:
    from shardlane.operations.lint.inspected import Inspected, LintFinding

MOST_RECORD_BYTES = 10 * 1024 * 1024
MOST_READERS = 1_000


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "lint",
        help="check a CloudFormation template, or a stream's mappings, for settings that bite",
        description="Looks for retries without end, batches that are given up without a trace, "
        "ReportBatchItemFailures that is off, empty filters, LATEST, more pollers than a shard's "
        "five reads a second carry, batches beyond 6 MB, tags on stream consumers, and alarms "
        "without dimensions. Each finding with its reason and its fix. Any template: CDK output, "
        "SAM, JSON or YAML. Exits with 1 if there are findings. A resource's Metadata may "
        "acknowledge some: {shardlane: {acknowledged: {RULE: REASON}}}; those are shown with the "
        "reason and do not count.",
    )
    parser.add_argument("template", nargs="?", type=Path, metavar="TEMPLATE", help="a file")
    parser.add_argument("--stream", metavar="STREAM", help="in an account instead: name or ARN")
    parser.add_argument(
        "--record-bytes",
        type=whole_number(1, MOST_RECORD_BYTES),
        metavar="N",
        help="of a record's data (default: the stream's average, or 1,024)",
    )
    parser.add_argument(
        "--other-readers",
        type=whole_number(0, MOST_READERS),
        default=0,
        metavar="N",
        help="readers that poll each stream and are no mapping (default: 0)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_account(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    from shardlane.operations.lint.rules import lint

    inspected = replace(_inspected(given), other_readers=given.other_readers)
    if given.record_bytes is not None:
        inspected = replace(
            inspected, record_bytes=given.record_bytes, record_bytes_from="as --record-bytes says"
        )
    findings = lint(inspected)
    if given.json:
        print(json.dumps([asdict(each) for each in findings], indent=2))
    else:
        _print(inspected, findings)
    return 1 if _open(findings) else 0


def _open(findings: list[LintFinding]) -> list[LintFinding]:
    return [each for each in findings if each.acknowledged is None]


def _inspected(given: argparse.Namespace) -> Inspected:
    if (given.template is None) == (given.stream is None):
        raise OperationError("lint needs a template or --stream, and not both")
    if given.template is not None:
        from shardlane.operations.lint.from_template import inspect_template
        from shardlane.operations.lint.template_file import read_template

        return inspect_template(read_template(given.template))
    with account(given) as clients:
        from shardlane.operations.lint.from_account import inspect_stream

        return inspect_stream(clients, given.stream, SystemClock())


def _print(inspected: Inspected, findings: list[LintFinding]) -> None:
    from shardlane.operations.wording import counted

    for each in findings:
        print(f"{each.where}: {each.problem} [{each.rule}]")
        print(f"  why: {each.reason}")
        if each.acknowledged is None:
            print(f"  fix: {each.fix}")
        else:
            print(f"  acknowledged: {each.acknowledged}")
    looked_at = (
        counted(len(inspected.mappings), "Kinesis mapping"),
        counted(len(inspected.alarms), "alarm"),
        counted(len(inspected.consumers), "stream consumer"),
    )
    count = len(_open(findings))
    known = f" ({len(findings) - count} more acknowledged)" if len(findings) > count else ""
    print(f"{counted(count, 'finding')}{known} in {', '.join(looked_at)}")
