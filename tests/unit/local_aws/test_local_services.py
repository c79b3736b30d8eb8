"""The services from moto: started, safe under concurrent clients, and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardlane_lab.errors import ProcessError
from shardlane_lab.local_aws.services import LocalAws

CLIENTS = 8


def table(services: LocalAws) -> tuple[str, Any]:
    name = f"t-{uuid.uuid4().hex}"
    dynamodb = services.client("dynamodb")
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return name, dynamodb


def together(services: LocalAws, work: Callable[[int, Any], Any]) -> list[Any]:
    """What 8 clients return who begin at the same moment."""
    clients = [services.client("dynamodb") for _ in range(CLIENTS)]
    start = threading.Barrier(CLIENTS)

    def run(number: int) -> Any:
        start.wait()
        return work(number, clients[number])

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(run, range(CLIENTS)))


def test_a_compare_and_swap_has_one_winner_a_round(local_aws: LocalAws) -> None:
    name, dynamodb = table(local_aws)
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "lease"}, "version": {"N": "0"}})
    rounds = 15
    turns = threading.Barrier(CLIENTS)

    def swap(_number: int, client: Any) -> list[bool]:
        won = []
        for version in range(rounds):
            turns.wait()
            try:
                client.update_item(
                    TableName=name,
                    Key={"pk": {"S": "lease"}},
                    UpdateExpression="SET version = :next",
                    ConditionExpression="version = :this",
                    ExpressionAttributeValues={
                        ":this": {"N": str(version)},
                        ":next": {"N": str(version + 1)},
                    },
                )
                won.append(True)
            except client.exceptions.ConditionalCheckFailedException:
                won.append(False)
        return won

    by_client = together(local_aws, swap)
    winners = [sum(each[number] for each in by_client) for number in range(rounds)]
    assert winners == [1] * rounds


def test_no_acknowledged_write_is_lost_to_another_clients_cancelled_transaction(
    local_aws: LocalAws,
) -> None:
    name, dynamodb = table(local_aws)
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "taken"}})

    def write(number: int, client: Any) -> list[str]:
        acknowledged = []
        for i in range(12):
            key = f"{number}-{i}"
            if number % 2:
                client.put_item(TableName=name, Item={"pk": {"S": key}})
                acknowledged.append(key)
                continue
            puts = [
                {"Put": {"TableName": name, "Item": {"pk": {"S": key}}}},
                {
                    "Put": {
                        "TableName": name,
                        "Item": {"pk": {"S": "taken"}},
                        "ConditionExpression": "attribute_not_exists(pk)",
                    }
                },
            ]
            with pytest.raises(client.exceptions.TransactionCanceledException):
                client.transact_write_items(TransactItems=puts)
        return acknowledged

    acknowledged = {key for keys in together(local_aws, write) for key in keys}
    pages = dynamodb.get_paginator("scan").paginate(TableName=name, ConsistentRead=True)
    stored = {item["pk"]["S"] for page in pages for item in page["Items"]}
    assert stored == acknowledged | {"taken"}
    assert len(acknowledged) == 48


def test_transactions_that_add_to_one_counter_add_up(local_aws: LocalAws) -> None:
    name, dynamodb = table(local_aws)

    def add(number: int, client: Any) -> int:
        done = 0
        for i in range(10):
            client.transact_write_items(
                TransactItems=[
                    {
                        "Update": {
                            "TableName": name,
                            "Key": {"pk": {"S": "counter"}},
                            "UpdateExpression": "ADD n :one",
                            "ExpressionAttributeValues": {":one": {"N": "1"}},
                        }
                    },
                    {"Put": {"TableName": name, "Item": {"pk": {"S": f"{number}-{i}"}}}},
                ]
            )
            done += 1
        return done

    expected = sum(together(local_aws, add))
    counter = dynamodb.get_item(TableName=name, Key={"pk": {"S": "counter"}})["Item"]["n"]["N"]
    assert int(counter) == expected == CLIENTS * 10


def test_a_service_that_is_not_here_is_refused_by_name(local_aws: LocalAws) -> None:
    """moto has a Kinesis of its own, without limits: nobody shall end up there unawares."""
    with pytest.raises(ClientError, match="'kinesis' is not served here; served are CloudWatch,"):
        local_aws.client("kinesis").list_streams()


def test_a_client_looks_at_nothing_of_the_users(
    local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "does-not-exist")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-user")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    assert local_aws.client("sts").get_caller_identity()["Account"] == "000000000000"


def test_every_service_has_its_endpoint_variable(local_aws: LocalAws) -> None:
    variables = local_aws.variables()
    assert set(variables.values()) == {local_aws.endpoint}
    for name in ("DYNAMODB", "SQS", "S3", "CLOUDWATCH", "CLOUDWATCH_LOGS"):
        assert f"AWS_ENDPOINT_URL_{name}" in variables
    assert "AWS_ENDPOINT_URL" in variables
    assert "AWS_ENDPOINT_URL_KINESIS" not in variables


def test_a_port_that_is_taken_is_an_error_that_says_so() -> None:
    async def main(port: int) -> None:
        services = LocalAws("us-east-1")
        with pytest.raises(ProcessError, match="did not start"):
            await services.start(port)

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        asyncio.run(main(taken.getsockname()[1]))


def test_the_process_ends_when_its_lab_is_killed() -> None:
    source = (
        "import asyncio, sys\n"
        "from shardlane_lab.local_aws.services import LocalAws\n"
        "async def main():\n"
        "    services = LocalAws('us-east-1')\n"
        "    await services.start()\n"
        "    print(services.endpoint, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        port = int(lab.stdout.readline().rsplit(":", 1)[1])
        connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        os.kill(lab.pid, signal.SIGKILL)
    with connection:
        try:
            ended = connection.recv(1) == b""  # blocks until the process closes its sockets
        except ConnectionResetError:
            ended = True
    assert ended
