"""A local stack with handlers of one's own, and the command line at its side."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shardlane.cli.main import main
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_stack import LocalStack
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

STREAM, TABLE, CONSUMER = "order-events", "order-events-parking", "billing"
HANDLERS = """
import os

from aws_lambda_powertools.utilities.batch import process_partial_response
from shardlane import Backoff, FailurePolicy, KeyedBatchProcessor, ParkingLot

lot = ParkingLot(table="order-events-parking", consumer="billing")
soon = Backoff(first_ms=1, most_ms=1)
parking = KeyedBatchProcessor(on_failure=FailurePolicy.park(lot, attempts=3, backoff=soon))
stopping = KeyedBatchProcessor(log_keys=True)
MENDED = os.environ["MENDED"]

def handle(record):
    if record.json().get("poison") and not os.path.exists(MENDED):
        raise ValueError("a bad amount")

def respond(event, context, processor):
    return process_partial_response(
        event=event, record_handler=handle, processor=processor, context=context)

def park(event, context):
    return respond(event, context, parking)

def stop(event, context):
    return respond(event, context, stopping)

def plain(event, context):
    import base64, json
    for each in event["Records"]:
        if json.loads(base64.b64decode(each["kinesis"]["data"])).get("poison"):
            if not os.path.exists(MENDED):
                raise ValueError("a bad amount")
"""


def template(folder: Path) -> Path:
    """``park``, ``stop`` and ``plain``: three functions on one stream, with the processor and
    without. Returns the file that mends all of them when it is there."""
    mended = folder / "mended"
    app = SynthesizedApp(folder)
    variables = {
        "Variables": {
            "MENDED": str(mended),
            "PARKING_TABLE": ref("Table"),
            "PARKING_CONSUMER": CONSUMER,
        }
    }
    once = {
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "StartingPosition": "TRIM_HORIZON",
    }
    failed = {"DestinationConfig": {"OnFailure": {"Destination": attribute("Failed")}}}
    kept = {"DestinationConfig": {"OnFailure": {"Destination": attribute("Kept")}}}
    resources: Json = {
        "Stream": stream(STREAM, RetentionPeriodHours=48, ShardCount=2),
        "Reader": consumer("reader", attribute("Stream")),
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "TableName": TABLE,
                "AttributeDefinitions": [
                    {"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk")
                ],
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
            },
        },
        "Failed": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "failed"}},
        "Kept": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "kept"}},
        **{
            name.title(): function(name, Environment=variables, Timeout=20, Handler=f"app.{name}")
            for name in ("park", "stop", "plain")
        },
        "Parking": mapping(attribute("Stream"), ref("Park"), MaximumRetryAttempts=100, **once),
        "Stopping": mapping(attribute("Reader", "ConsumerARN"), ref("Stop"), **once),
        "Queued": mapping(
            attribute("Stream"), ref("Plain"), MaximumRetryAttempts=0, BatchSize=10,
            StartingPosition="TRIM_HORIZON", **failed
        ),
        "Stored": mapping(
            attribute("Stream"), ref("Plain"), MaximumRetryAttempts=0, BatchSize=11,
            StartingPosition="TRIM_HORIZON", **kept
        ),
    }  # fmt: skip
    app.stack("S", resources, assets=("code",))
    (folder / "asset.code" / "app.py").write_text(HANDLERS, encoding="utf-8")
    return mended


class Stage:
    """The running stack. ``shardlane`` is the command line in this process."""

    def __init__(
        self,
        stack: LocalStack,
        loop: asyncio.AbstractEventLoop,
        mended: Path,
        lines: list[tuple[str, str]],
    ) -> None:
        self._stack = stack
        self._loop = loop
        self.mended = mended
        self.lines = lines
        """Function name and line, as they were logged."""
        self.variables = stack.variables()
        self.kinesis = local_client("kinesis", stack.kinesis_endpoint, "us-east-1")

    def client(self, service: str) -> Any:
        return self._stack.aws_client(service)

    def put(self, key: str, shard: int = 0, **fields: Any) -> str:
        """Into the first or the second shard; returns the sequence number."""
        answer = self.kinesis.put_record(
            StreamName=STREAM,
            Data=json.dumps(fields).encode(),
            PartitionKey=key,
            ExplicitHashKey=str(shard * 2**127),
        )
        return str(answer["SequenceNumber"])

    def publish(self) -> None:
        """Logs and metrics are in CloudWatch after this."""
        asyncio.run_coroutine_threadsafe(self._stack.publish(), self._loop).result(30)

    def shardlane(self, *arguments: str, status: int = 0) -> str:
        """What the command prints, to whichever stream."""
        found, written, errors = self._ran(arguments)
        assert found == status, written + errors
        return written + errors

    def shardlane_json(self, *arguments: str, errors: bool = True) -> Any:
        """What it prints as JSON; ``errors=False``: beside what it says to standard error."""
        status, written, said = self._ran((*arguments, "--json"))
        assert status == 0, written + said
        assert not (errors and said), said
        return json.loads(written)

    def shardlane_either(self, *arguments: str) -> str:
        """For a command whose status is its finding."""
        status, written, said = self._ran(arguments)
        assert status in (0, 1), written + said
        return written

    @staticmethod
    def _ran(arguments: tuple[str, ...]) -> tuple[int, str, str]:
        written, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(errors):
            status = main(arguments)
        return status, written.getvalue(), errors.getvalue()


def eventually(look: Callable[[], Any], within_s: float = 60.0) -> Any:
    """What ``look`` finds, as soon as it finds something."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing within {within_s} s"
        time.sleep(0.3)
    return found


@contextmanager
def running(folder: Path) -> Iterator[Stage]:
    """The stack runs in a thread with a loop of its own: commands block."""
    mended = template(folder)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    lines: list[tuple[str, str]] = []
    stack = LocalStack(read_assembly(folder), on_log=lambda *line: lines.append(line))
    try:
        asyncio.run_coroutine_threadsafe(stack.__aenter__(), loop).result(120)
        try:
            stage = Stage(stack, loop, mended, lines)
            yield stage
            stage.kinesis.close()
        finally:
            asyncio.run_coroutine_threadsafe(stack.__aexit__(None, None, None), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
