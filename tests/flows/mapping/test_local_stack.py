"""A whole app on this machine, read from its synthesized template."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab.errors import LabError
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.local_stack import LocalStack, StackOptions
from tests.unit.local_lambda.synthesized_app import (
    Json,
    SynthesizedApp,
    attribute,
    consumer,
    function,
    mapping,
    ref,
    stream,
)

HANDLER = """
import base64, json, os, time
import boto3

dynamodb = boto3.client("dynamodb")

def handler(event, context):
    for record in event["Records"]:
        text = base64.b64decode(record["kinesis"]["data"]).decode()
        if text == "poison":
            raise ValueError("poison")
        dynamodb.put_item(TableName=os.environ["TABLE"],
                          Item={"pk": {"S": f"{context.function_name}:{text}"}})
    print(json.dumps({"_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [
        {"Namespace": "Orders", "Dimensions": [["service"]], "Metrics": [{"Name": "Handled"}]}]},
        "service": "test", "Handled": len(event["Records"])}))

def report(event, context):
    endpoints = {name: boto3.client(name).meta.endpoint_url for name in event["services"]}
    return {"endpoints": endpoints, "consumer": os.environ["CONSUMER"],
            "key": boto3.Session().get_credentials().access_key}
"""


def queue(name: str) -> Json:
    return {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": name}}


@pytest.fixture
def template(tmp_path: Path) -> Template:
    app = SynthesizedApp(tmp_path)
    environment: Json = {
        "Environment": {
            "Variables": {"TABLE": ref("Table"), "CONSUMER": attribute("Reader", "ConsumerARN")}
        },
        "Timeout": 20,
    }
    retried = {"MaximumRetryAttempts": 0, "BisectBatchOnFunctionError": True}
    app.stack(
        "S",
        {
            "Stream": stream(RetentionPeriodHours=48),
            "Reader": consumer("reader", attribute("Stream")),
            "Table": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "TableName": "handled",
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                },
            },
            "Failed": queue("failed"),
            "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "failed-bucket"}},
            "Standard": function("standard", **environment),
            "Efo": function("efo", **environment),
            "Report": function("report", **environment),
            "M1": mapping(
                attribute("Stream"),
                ref("Standard"),
                DestinationConfig={"OnFailure": {"Destination": attribute("Failed")}},
                **retried,
            ),
            "M2": mapping(
                attribute("Reader", "ConsumerARN"),
                ref("Efo"),
                DestinationConfig={"OnFailure": {"Destination": attribute("Bucket")}},
                **retried,
            ),
        },
        assets=("code",),
    )
    template = app.folder / "S.template.json"
    values = json.loads(template.read_text(encoding="utf-8"))
    values["Resources"]["Report"]["Properties"]["Handler"] = "app.report"
    template.write_text(json.dumps(values), encoding="utf-8")
    (app.folder / "asset.code" / "app.py").write_text(HANDLER, encoding="utf-8")
    return read_assembly(app.folder)


def eventually(look: Callable[[], Any], within_s: float = 30.0) -> Any:
    """What ``look`` finds, as soon as it finds something."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing within {within_s} s"
        time.sleep(0.05)
    return found


def use(stack: LocalStack) -> None:
    """From outside: an ordinary client puts, the mappings do the rest."""
    kinesis = local_client("kinesis", stack.kinesis_endpoint, "us-east-1")
    for text in ("a", "poison", "b"):
        kinesis.put_record(StreamName="orders", Data=text.encode(), PartitionKey="key")

    dynamodb = stack.aws_client("dynamodb")
    wanted = {f"{name}:{text}" for name in ("standard", "efo") for text in "ab"}

    def handled() -> bool:
        items = dynamodb.scan(TableName="handled", ConsistentRead=True)["Items"]
        return {item["pk"]["S"] for item in items} == wanted

    eventually(handled)
    check_queue(stack)
    check_bucket(stack)
    kinesis.close()


def check_queue(stack: LocalStack) -> None:
    sqs = stack.aws_client("sqs")
    url = sqs.get_queue_url(QueueName="failed")["QueueUrl"]
    (message,) = eventually(
        lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
    )
    body = json.loads(message["Body"])
    assert body["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert body["KinesisBatchInfo"]["batchSize"] == 1
    assert body["KinesisBatchInfo"]["streamArn"] == stack.arns["orders"]


def check_bucket(stack: LocalStack) -> None:
    s3 = stack.aws_client("s3")
    (found,) = eventually(lambda: s3.list_objects_v2(Bucket="failed-bucket").get("Contents"))
    assert found["Key"].startswith("aws/lambda/")
    body = json.loads(s3.get_object(Bucket="failed-bucket", Key=found["Key"])["Body"].read())
    (record,) = json.loads(body["payload"])["Records"]
    assert record["eventSourceARN"] == stack.arns["reader"]


def check_cloudwatch(stack: LocalStack) -> None:
    logs = stack.aws_client("logs")
    events = logs.filter_log_events(logGroupName="/aws/lambda/standard")["events"]
    assert any(each["message"].startswith("REPORT RequestId: ") for each in events)
    assert any("poison" in each["message"] for each in events)
    cloudwatch = stack.aws_client("cloudwatch")
    pages = cloudwatch.get_paginator("list_metrics").paginate()
    metrics = {
        (each["Namespace"], each["MetricName"]) for page in pages for each in page["Metrics"]
    }
    assert {
        ("Orders", "Handled"),
        ("AWS/Lambda", "Invocations"),
        ("AWS/Lambda", "IteratorAge"),
        ("AWS/Kinesis", "IncomingRecords"),
    } <= metrics


def test_records_go_through_functions_tables_queues_and_metrics(template: Template) -> None:
    async def main() -> None:
        async with LocalStack(template) as stack:
            await asyncio.to_thread(use, stack)
            await stack.publish()
            await asyncio.to_thread(check_cloudwatch, stack)
            result = await stack.functions["report"].invoke({"services": []})
            assert result.payload["consumer"] == stack.arns["reader"]

    asyncio.run(main())


WATCHED = """
import asyncio, json, sys
from pathlib import Path

reached = []

def watch(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        reached.append(arguments[1][0])
    elif event == "socket.getaddrinfo":
        reached.append(arguments[0])

sys.addaudithook(watch)

from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_stack import LocalStack

SERVICES = ["kinesis", "dynamodb", "sqs", "s3", "sns", "logs", "cloudwatch", "sts", "lambda"]

async def main():
    async with LocalStack(read_assembly(Path(sys.argv[1]))) as stack:
        result = await stack.functions["report"].invoke({"services": SERVICES})
        stack.aws_client("sts").get_caller_identity()
    print(json.dumps({"reached": reached, "report": result.payload,
                      "variables": stack.variables()}))

asyncio.run(main())
"""


def test_nothing_reaches_aws_even_with_credentials_in_the_environment(
    template: Template,
) -> None:
    folder = template.functions[0].code_folder.parent
    of_the_user = {
        "AWS_ACCESS_KEY_ID": "AKIAOFTHEUSER0000000",
        "AWS_SECRET_ACCESS_KEY": "of-the-user",
        "AWS_SESSION_TOKEN": "of-the-user",
        "AWS_REGION": "eu-west-1",
        "AWS_PROFILE": "production",
        "HTTP_PROXY": "http://proxy.example:3128",
    }
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(folder)],
        env=os.environ | of_the_user,
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert set(seen["reached"]) <= {"127.0.0.1"}
    endpoints = seen["report"]["endpoints"]
    assert len(endpoints) == 9
    assert all(each.startswith("http://127.0.0.1:") for each in endpoints.values())
    assert seen["report"]["key"] == "local"
    addresses = [value for name, value in seen["variables"].items() if "ENDPOINT" in name]
    assert all(each.startswith("http://127.0.0.1:") for each in addresses)
    assert "of-the-user" not in done.stdout
    assert "AKIAOFTHEUSER0000000" not in done.stdout


def test_a_mapping_that_cannot_read_ends_the_stack_with_its_reason(template: Template) -> None:
    """Here its stream is deleted while it runs."""

    async def main() -> None:
        async with LocalStack(template, StackOptions(seed=1)) as stack:
            kinesis = local_client("kinesis", stack.kinesis_endpoint, "us-east-1")
            await asyncio.to_thread(
                kinesis.delete_stream, StreamName="orders", EnforceConsumerDeletion=True
            )
            kinesis.close()
            with pytest.raises(LabError, match="ResourceNotFoundException"):
                async with asyncio.timeout(30):
                    await stack.wait()

    asyncio.run(main())
