"""The whole story on a laptop: handlers of one's own, one record that fails, found and redriven.

Three functions read the stream: one parks, one stops, and one is any function at all, behind two
mappings that give up at once, to a queue and to a bucket.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane.parking.place import key_hash
from tests.flows.operations.stage import CONSUMER, STREAM, TABLE, Stage, eventually

pytestmark = pytest.mark.slow("it waits for a local stack to start and for a mapping's retries")
LOT = ("--table", TABLE, "--consumer", CONSUMER)
BOB = f"sha256:{key_hash('bob')[:12]}…"


@pytest.fixture(scope="module")
def poison(stage: Stage) -> str:
    """The number of bob's poison record; when this returns, every mapping has met it."""
    stage.put("alice", n=1)
    number = stage.put("bob", poison=True)
    for n in range(2):
        stage.put("bob", n=n)
        stage.put("carol", shard=1, n=n)
    eventually(lambda: kept_objects(stage))
    eventually(lambda: sum(is_failure(*line) for line in stage.lines) > 1)
    eventually(lambda: len(parked_records(stage)) == 3)
    stage.publish()
    return number


def is_failure(function: str, line: str) -> bool:
    return function == "stop" and "records failed" in line


def parked_records(stage: Stage) -> list[Any]:
    found: list[Any] = stage.shardlane_json("parked", *LOT, "--key", "bob")
    return found


def kept_objects(stage: Stage) -> list[Any]:
    found: list[Any] = stage.client("s3").list_objects_v2(Bucket="kept").get("Contents", [])
    return found


def status_of(stage: Stage, function: str) -> list[Any]:
    written = stage.shardlane_either("stuck", "--stream", STREAM, "--json")
    return [each for each in json.loads(written) if each["function"] == function]


def test_stuck_names_the_record_that_blocks_and_what_its_settings_will_do(
    stage: Stage, poison: str
) -> None:
    (found,) = status_of(stage, "stop")
    assert found["stuck"]
    assert found["consumer"] == "reader"
    (block,) = found["blocks"]
    assert block["sequence_number"] == poison
    assert block["shard_id"] == "shardId-000000000000"
    assert block["key"] == BOB
    assert block["invocations"] >= 2
    assert block["reason"] == "ValueError: a bad amount"
    assert block["certain"]
    assert "without end" in block["next"][0]
    assert block["lost_ms"] == block["arrival_ms"] + 48 * 3_600_000
    assert not found["not_read"]


def test_stuck_leaves_the_one_that_parks_alone(stage: Stage, poison: str) -> None:
    (found,) = status_of(stage, "park")
    assert (found["stuck"], found["blocks"]) == (False, [])
    assert "quarantined keys: 1 (shardlane parked --function park)" in found["notes"]


def test_stuck_tells_what_a_function_with_any_code_gave_up(stage: Stage, poison: str) -> None:
    queued, stored = status_of(stage, "plain")
    notes = [*queued["notes"], *stored["notes"]]
    assert any("ValueError" in each for each in notes)
    assert any(each.startswith("messages waiting at arn:aws:sqs:") for each in notes)
    assert "messages waiting at arn:aws:s3:::kept: 1" in notes


def test_stuck_exits_with_1_and_prints_no_key_and_no_payload(stage: Stage, poison: str) -> None:
    written = stage.shardlane("stuck", "--stream", STREAM, status=1)
    assert f"shardlane peek --stream {STREAM}" in written
    assert "bob" not in written
    assert "poison" not in written
    assert "key bob" in stage.shardlane("stuck", "--keys", status=1)


def test_peek_shows_the_payload_only_if_it_is_asked_for(stage: Stage, poison: str) -> None:
    look = ("peek", "--stream", STREAM, "--sequence", poison)
    bare = stage.shardlane(*look)
    assert poison in bare
    assert "16 bytes, JSON object" in bare
    assert "poison" not in bare
    assert BOB in bare
    full = stage.shardlane(*look, "--shard", "shardId-000000000000", "--payload", "--keys")
    assert '|   "poison": true' in full
    assert "key      bob" in full


def test_peek_says_so_if_the_record_is_not_there(stage: Stage, poison: str) -> None:
    beside = str(int(poison) + 1)
    written = stage.shardlane("peek", "--stream", STREAM, "--sequence", beside, status=1)
    assert "1 of 1 records are not in the stream" in written


def test_peek_reads_what_an_on_failure_message_means(
    stage: Stage, poison: str, tmp_path: Any
) -> None:
    (found, *_) = kept_objects(stage)
    text = stage.client("s3").get_object(Bucket="kept", Key=found["Key"])["Body"].read().decode()
    whole = tmp_path / "of-s3.json"
    whole.write_text(text, encoding="utf-8")
    fields = json.loads(text)
    del fields["payload"]
    bare = tmp_path / "of-sqs.json"
    bare.write_text(json.dumps(fields), encoding="utf-8")

    def numbers(path: Any) -> list[str]:
        records = stage.shardlane_json("peek", "--message", str(path), errors=False)
        return [each["sequence_number"] for each in records]

    assert poison in numbers(whole)
    assert numbers(bare) == numbers(whole)


def test_parked_lists_keys_with_age_attempts_depth_and_reason(stage: Stage, poison: str) -> None:
    (found,) = stage.shardlane_json("parked", *LOT)
    assert found["key_hash"] == key_hash("bob")
    assert (found["records"], found["attempts"], found["reason"]) == (
        3,
        3,
        "ValueError: a bad amount",
    )
    assert "bob" not in stage.shardlane("parked", *LOT)
    head, second, third = parked_records(stage)
    assert head["sequence_number"] == poison
    assert (head["attempts"], second["attempts"], third["attempts"]) == (3, 0, 0)


def test_an_endpoint_that_is_given_goes_before_those_of_the_environment(
    stage: Stage, poison: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    endpoint = stage.variables["AWS_ENDPOINT_URL_DYNAMODB"]
    (found,) = stage.shardlane_json("parked", *LOT, "--endpoint-url", endpoint)
    assert found["key_hash"] == key_hash("bob")


def test_why_explains_a_key_and_how_to_set_it_going(stage: Stage, poison: str) -> None:
    written = stage.shardlane("why", "--function", "park", "--key", "bob", status=1)
    assert f"{BOB} is quarantined for {CONSUMER}" in written
    assert "2 more are parked behind it" in written
    assert f"shardlane redrive --table {TABLE} --consumer {CONSUMER}" in written
    assert "is not quarantined" in stage.shardlane("why", *LOT, "--key", "alice")


def test_lint_looks_at_the_mappings_of_the_stream_and_its_consumers(
    stage: Stage, poison: str
) -> None:
    written = json.loads(stage.shardlane_either("lint", "--stream", STREAM, "--json"))
    found = {(each["rule"], each["where"].partition(" ")[0]) for each in written}
    assert found == {
        ("endless-retries", "stop"),
        ("no-on-failure", "park"),
        ("no-partial-responses", "plain"),
    }


def test_nothing_is_written_without_an_answer(stage: Stage, poison: str) -> None:
    for command in (
        ("redrive", "--function", "park", "--all"),
        ("redrive", "--from-sqs", "failed"),
        ("redrive", "--from-s3", "s3://kept"),
    ):
        assert "Nobody is there to ask: give --yes" in stage.shardlane(*command, status=2)
        assert "give --yes" not in stage.shardlane(*command, "--dry-run")
    assert len(parked_records(stage)) == 3
    assert kept_objects(stage)


def test_a_record_that_will_never_pass_is_skipped_with_a_reason(stage: Stage, poison: str) -> None:
    stage.put("eve", poison=True)
    stage.put("eve", n=1)
    eventually(lambda: len(stage.shardlane_json("parked", *LOT, "--key", "eve")) == 2)
    redrive = ("redrive", "--function", "park", "--key", "eve", "--skip-first", "--yes")
    written = stage.shardlane(*redrive, "--reason", "test data")
    assert "lifted, 1 handled" in written
    assert "shardlane: skipped one record: test data" in written
    assert stage.shardlane_json("parked", *LOT, "--key", "eve") == []


def test_the_record_is_redriven_when_the_handler_is_mended(stage: Stage, poison: str) -> None:
    """Last in this module: it mends the handlers."""
    redrive = ("redrive", "--function", "park", "--key-hash", key_hash("bob")[:8], "--yes")
    assert f"failed, 0 handled at {poison}" in stage.shardlane(*redrive, status=1)
    assert parked_records(stage)[0]["attempts"] == 4
    sqs = ("redrive", "--from-sqs", "failed", "--yes", "--function", "plain")
    s3 = ("redrive", "--from-s3", "s3://kept/aws/lambda", "--yes")
    assert "kept, " in stage.shardlane(*sqs, status=1)

    stage.mended.touch()
    assert "lifted, 3 handled" in stage.shardlane(*redrive)
    assert stage.shardlane_json("parked", *LOT) == []
    assert "deleted, " in stage.shardlane(*sqs)
    assert "(unordered)" in stage.shardlane(*s3)
    assert kept_objects(stage) == []
    assert "about 0 messages" in stage.shardlane(*sqs)
