"""A second deployment keeps what has data or a place in a stream."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from stacks.synth import ROOT
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import Synthesized
from tests.infra.replacements import create_only, lost

BEFORE: dict[str, Any] = {"payload_bucket": True, "tags": {"team": "orders"}}


@pytest.fixture(scope="module")
def before(synthesized: Synthesized) -> CloudAssembly:
    return synthesized(BEFORE)


def test_the_schemas_say_what_cannot_be_changed() -> None:
    consumer = create_only("AWS::Kinesis::StreamConsumer")
    assert consumer >= {"ConsumerName", "StreamARN", "Tags"}
    mapping = create_only("AWS::Lambda::EventSourceMapping")
    assert mapping >= {"EventSourceArn", "StartingPosition", "StartingPositionTimestamp"}
    assert create_only("AWS::Kinesis::Stream") == {"Name"}


@pytest.mark.parametrize("policy", ["stop", "drop"])
def test_another_policy_replaces_nothing(
    before: CloudAssembly, synthesized: Synthesized, policy: str
) -> None:
    after = synthesized(BEFORE | {"policy": policy})
    assert lost(before, after) == set()
    assert lost(after, before) == set()


def test_tags_sizes_and_settings_replace_nothing(
    before: CloudAssembly, synthesized: Synthesized
) -> None:
    after = synthesized(
        BEFORE
        | {
            "tags": {"team": "billing", "cost": "42"},
            "shard_count": 3,
            "stream_retention_hours": 72,
            "removal": "destroy",
            "architecture": "x86_64",
            "redrive_every_min": 5,
            "load": True,
            "alarm_email": "orders@example.com",
            "standard": {
                "memory_mb": 512,
                "timeout_s": 60,
                "workers": 16,
                "reserved_concurrency": 20,
                "mapping": {
                    "batch_size": 500,
                    "batching_window_s": 3,
                    "parallelization_factor": 5,
                    "bisect_on_error": False,
                },
            },
        }
    )
    assert lost(before, after) == set()
    assert before.templates != after.templates


def test_other_code_replaces_nothing(
    before: CloudAssembly, synthesized: Synthesized, tmp_path: Path
) -> None:
    for folder in ("functions", "layers"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for path in ("functions/order_latency/handler.py", "layers/dependencies/requirements.txt"):
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write("# changed\n")
    after = synthesized(BEFORE, sources=tmp_path)
    assert before.asset_hashes() != after.asset_hashes()
    assert lost(before, after) == set()


def test_the_check_sees_what_is_replaced_and_what_goes_with_it(
    before: CloudAssembly, synthesized: Synthesized
) -> None:
    """Another starting position: the mapping. Another name of the stream: all that reads it."""
    moved = synthesized(BEFORE | {"efo": {"mapping": {"starting_position": "TRIM_HORIZON"}}})
    (mapping,) = lost(before, moved)
    assert mapping.startswith("EfoConsumerMapping")
    renamed = lost(before, synthesized(BEFORE | {"stream_name": "orders"}))
    kinds = {each.type for each in before.resources if each.logical_id in renamed}
    assert kinds == {
        "AWS::Kinesis::Stream",
        "AWS::Kinesis::StreamConsumer",
        "AWS::Lambda::EventSourceMapping",
    }
    assert len(renamed) == 5


def test_without_the_bucket_its_payloads_would_be_out_of_sight(
    before: CloudAssembly, synthesized: Synthesized
) -> None:
    gone = lost(before, synthesized(BEFORE | {"payload_bucket": False}))
    assert {each.type for each in before.resources if each.logical_id in gone} == {
        "AWS::S3::Bucket"
    }
