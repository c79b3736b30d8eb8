"""``shardlane stuck``: is every mapping moving, and what holds up the one that is not?"""

from __future__ import annotations

import argparse
import json

from shardlane.cli.account import account, add_account
from shardlane.cli.whole_number import whole_number
from shardlane.clock import SystemClock


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "stuck",
        help="which event source mapping stands still, at which record, and what to do",
        description="Looks at every event source mapping on a stream and on its consumers: is it "
        "moving, how late is it, which record holds it up, what will its settings do next, and "
        "when is data lost to retention. Reads only: mappings, functions, CloudWatch metrics, "
        "function logs, and single records of the stream (at most four of a shard's five reads a "
        "second). Works for functions with any code; the log of a KeyedBatchProcessor names the "
        "record, otherwise it is inferred. Exits with 1 if something is stuck.",
    )
    parser.add_argument("--stream", metavar="STREAM", help="name or ARN (default: all)")
    parser.add_argument(
        "--minutes",
        type=whole_number(5, 1_440),
        default=60,
        metavar="N",
        help="of metrics and logs to read (default: 60)",
    )
    parser.add_argument("--keys", action="store_true", help="show partition keys, not their hashes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_account(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    clock = SystemClock()
    with account(given) as clients:
        from shardlane.operations.diagnosis import diagnose
        from shardlane.operations.fact_reader import FactReader
        from shardlane.operations.stuck_report import as_json, text

        facts = FactReader(clients, given.minutes * 60, clock).facts(given.stream)
    now_ms = clock.wall_ms()
    findings = [diagnose(each, now_ms) for each in facts]
    if given.json:
        print(json.dumps(as_json(findings, keys=given.keys), indent=2))
    else:
        print(text(findings, now_ms, keys=given.keys))
    return 1 if any(each.status.is_stuck for each in findings) else 0
