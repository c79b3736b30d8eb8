"""One ``shardlane consume``, from its first line to its exit status, seen from outside."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardlane_lab.local_aws.embedded_metrics import embedded_metrics
from tests.flows.consumer.conftest import StartConsumer
from tests.flows.consumer.local_services import LocalServices, local_services


@pytest.fixture(scope="module")
def silent_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServices]:
    """Subscriptions stand, and nothing ever comes."""
    faults = tmp_path_factory.mktemp("faults") / "silence.json"
    faults.write_text(json.dumps({"fault": [{"kind": "silence", "probability": 1.0}]}))
    with local_services(faults, tables=False) as found:
        yield found


def test_a_stop_in_a_silent_subscription_takes_less_than_two_seconds(
    silent_services: LocalServices, start: StartConsumer
) -> None:
    silent_services.create_stream("silent", shards=2)
    consumer = start("c", silent_services, "silent", "--source", "efo:app")
    consumer.until(lambda: consumer.said.count("subscribed") == 2, "subscriptions")
    ended = consumer.stop()
    assert ended.status == 0
    assert ended.within_s < 2
    assert "everything that had started was finished" in ended.said


@pytest.mark.parametrize(
    ("handler", "options", "number"),
    [
        ("note", ("--workers", "4", "--by-key"), signal.SIGTERM),
        ("note_async", ("--workers", "4"), signal.SIGINT),
        ("note_batch", ("--batch", "10"), signal.SIGTERM),
    ],
    ids=["plain", "async", "batch"],
)
def test_it_hands_records_to_any_kind_of_handler_and_says_what_it_did(
    services: LocalServices,
    start: StartConsumer,
    handler: str,
    options: tuple[str, ...],
    number: signal.Signals,
) -> None:
    stream = f"kinds-{handler.replace('_', '-')}"
    services.create_stream(stream, shards=1)
    services.put(stream, ("1", "a"), ("2", "a"), ("3", "b"))
    consumer = start(
        "c", services, stream, "--start", "horizon", *options, "--metrics", handler=handler
    )
    consumer.until_handled(3)
    ended = consumer.stop(number)
    assert ended.status == 0
    assert sorted(each.data for each in consumer.handled) == ["1", "2", "3"]
    said = f"{stream}: stopped; 3 handled, 0 dropped, 0 parked; everything that had started"
    assert said in ended.said
    assert "leases are kept in memory" in ended.said
    metrics = {each.name: each.values for each in embedded_metrics(consumer.printed)}
    assert metrics["RecordsHandled"] == (3,)


def test_what_could_not_be_drained_is_named_and_is_the_exit_status(
    services: LocalServices, start: StartConsumer
) -> None:
    services.create_stream("undrained", shards=1)
    services.put("undrained", ("1", "a"))
    consumer = start(
        "c", services, "undrained", "--start", "horizon", "--drain", "0.2", handler="hang"
    )
    consumer.until_handled(1)
    ended = consumer.stop()
    assert ended.status == 1
    assert "not drained: shardId-000000000000 (1 running): those records come again" in ended.said


def test_a_second_signal_ends_it_at_once(services: LocalServices, start: StartConsumer) -> None:
    services.create_stream("twice", shards=1)
    services.put("twice", ("1", "a"))
    consumer = start("c", services, "twice", "--start", "horizon", handler="hang")
    consumer.until_handled(1)
    consumer.send(signal.SIGTERM)
    consumer.until(lambda: "a second signal ends it at once" in consumer.said, "first answer")
    assert consumer.stop().status == 130


def test_a_poison_key_is_parked_and_redriven_on_a_signal(
    services: LocalServices, start: StartConsumer, tmp_path: Path
) -> None:
    services.create_stream("parked", shards=1)
    services.create_parking_table("parking")
    fixed = tmp_path / "fixed"
    consumer = start(
        "c",
        services,
        "parked",
        *("--start", "horizon", "--leases", "dynamodb:parked-leases", "--attempts", "2"),
        *("--on-failure", "park", "--parking-table", "parking", "--consumer", "billing"),
        handler="fail_until_fixed",
        variables={"FIXED_FILE": str(fixed)},
    )
    services.put("parked", ("1", "alice"), ("2", "bob"), ("3", "alice"), ("4", "bob"))
    consumer.until_handled(2)
    consumer.until(lambda: _parked(services) == 2, "parked records")
    fixed.touch()
    consumer.send(signal.SIGUSR1)
    consumer.until_handled(4)
    consumer.until(lambda: "1 of 1 keys go on as usual" in consumer.said, "report")
    services.put("parked", ("5", "alice"))
    consumer.until_handled(5)
    assert [each.data for each in consumer.handled] == ["2", "4", "1", "3", "5"]
    assert services.dynamodb.scan(TableName="parking")["Items"] == []
    assert "alice" not in consumer.said
    assert "3 handled, 0 dropped, 2 parked" in consumer.stop().said


def _parked(services: LocalServices) -> int:
    items = services.dynamodb.scan(TableName="parking")["Items"]
    return sum(item["pk"]["S"].startswith("lot#") for item in items)


def test_a_stream_that_is_not_there_is_an_error_that_names_it(
    services: LocalServices, start: StartConsumer
) -> None:
    ended = start("c", services, "nowhere").ended()
    assert ended.status == 2
    assert "shardlane: there is no stream nowhere here" in ended.said
    assert "Traceback" not in ended.said
