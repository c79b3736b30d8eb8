"""The worker as its template starts it, and what it says of itself."""

from __future__ import annotations

import argparse
from typing import Any

from shardlane.cli.main import parser
from shardlane.consumer.counters import Counters
from shardlane.consumer.settlement import Held
from shardlane.consumer.stats import ShardStats, Stats
from tests.infra.cloud_assembly import CloudAssembly

TASK = "AWS::ECS::TaskDefinition"
SHARD = ShardStats(
    shard_id="shardId-000000000000",
    lag_ms=20.0,
    behind_ms=0,
    oldest_sequence_number=None,
    oldest_key=None,
    unsettled=0,
    running=0,
    waiting=0,
    checkpoint="TRIM_HORIZON",
    checkpoint_age_ms=0.0,
    renewed_ms=100.0,
)
WELL = Stats(counters=Counters(), shards=(SHARD,), channel_depth=0, keys_aside=0, held=())
HELD = Held(shard_id="shardId-000000000000", sequence_number="1", failures=3, since_s=0, reason="")


def container(assembly: CloudAssembly) -> dict[str, Any]:
    (found,) = assembly.one(TASK).properties["ContainerDefinitions"]
    return dict(found)


def command(assembly: CloudAssembly) -> argparse.Namespace:
    """As the command line understands it; a reference becomes its logical id."""
    words = [
        word if isinstance(word, str) else word.get("Ref", "")
        for word in _flat(container(assembly)["Command"])
    ]
    return parser().parse_args(["consume", *words])


def _flat(words: list[Any]) -> list[Any]:
    return [
        "".join(part if isinstance(part, str) else part["Ref"] for part in word["Fn::Join"][1])
        if isinstance(word, dict) and "Fn::Join" in word
        else word
        for word in words
    ]
