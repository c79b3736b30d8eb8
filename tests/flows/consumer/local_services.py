"""The local Kinesis and moto's DynamoDB, each a process of its own, for consumers in others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import boto3

from shardlane_lab.processes.parent import local_environment

ACTIVE_WITHIN_S = 30.0


class LocalServices:
    """``variables`` are the environment of whoever is to reach them."""

    def __init__(self, kinesis_url: str, dynamodb_url: str) -> None:
        self.variables = {
            "AWS_ENDPOINT_URL_KINESIS": kinesis_url,
            "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_url,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        self.kinesis = self.client("kinesis", kinesis_url)
        self.dynamodb = self.client("dynamodb", dynamodb_url)

    def client(self, service: str, url: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def close(self) -> None:
        self.kinesis.close()
        self.dynamodb.close()

    # --- streams ----------------------------------------------------------------------------

    def create_stream(self, name: str, shards: int) -> None:
        self.kinesis.create_stream(StreamName=name, ShardCount=shards)
        self.wait_active(name)

    def wait_active(self, name: str) -> None:
        until_s = time.monotonic() + ACTIVE_WITHIN_S
        while self._status(name) != "ACTIVE":
            assert time.monotonic() < until_s, f"{name} is {self._status(name)}"
            time.sleep(0.1)

    def _status(self, name: str) -> str:
        described = self.kinesis.describe_stream_summary(StreamName=name)
        return str(described["StreamDescriptionSummary"]["StreamStatus"])

    def open_shards(self, name: str) -> list[dict[str, Any]]:
        """By their hash keys."""
        shards = self.kinesis.list_shards(StreamName=name)["Shards"]
        return sorted(
            (each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]),
            key=lambda each: int(each["HashKeyRange"]["StartingHashKey"]),
        )

    def split(self, name: str, shard: dict[str, Any]) -> None:
        keys = shard["HashKeyRange"]
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2
        self.kinesis.split_shard(
            StreamName=name, ShardToSplit=shard["ShardId"], NewStartingHashKey=str(middle)
        )
        self.wait_active(name)

    def merge(self, name: str, shard: dict[str, Any], next_shard: dict[str, Any]) -> None:
        self.kinesis.merge_shards(
            StreamName=name,
            ShardToMerge=shard["ShardId"],
            AdjacentShardToMerge=next_shard["ShardId"],
        )
        self.wait_active(name)

    def put(self, name: str, *records: tuple[str, str]) -> None:
        """(data, key) by (data, key), in order."""
        for data, key in records:
            self.kinesis.put_record(StreamName=name, Data=data.encode(), PartitionKey=key)

    # --- tables -----------------------------------------------------------------------------

    def create_parking_table(self, name: str) -> None:
        self.dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
        )

    def owners(self, table: str) -> dict[str, str | None]:
        """Shard → who has its lease."""
        items = self.dynamodb.scan(TableName=table, ConsistentRead=True)["Items"]
        return {
            item["leaseKey"]["S"]: item["leaseOwner"]["S"] if "leaseOwner" in item else None
            for item in items
        }


@contextmanager
def local_services(faults: Path | None = None, *, tables: bool = True) -> Iterator[LocalServices]:
    """``faults``: of the local Kinesis. Without ``tables`` there is no DynamoDB."""
    with ExitStack() as closing:
        given = [] if faults is None else ["--faults", str(faults)]
        kinesis = closing.enter_context(
            _process("shardlane_lab.cli.main", "kinesis", "--port", "0", *given)
        )
        dynamodb_url = "http://127.0.0.1:1"  # nobody listens there
        if tables:
            dynamodb = closing.enter_context(_process("shardlane_lab.local_aws.serve", "0"))
            assert dynamodb.stdout is not None
            port = json.loads(dynamodb.stdout.readline())["port"]
            dynamodb_url = f"http://127.0.0.1:{port}"
        assert kinesis.stdout is not None
        kinesis_url = kinesis.stdout.readline().split(" ")[3]
        services = LocalServices(kinesis_url, dynamodb_url)
        closing.callback(services.close)
        yield services


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=local_environment({}),
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
