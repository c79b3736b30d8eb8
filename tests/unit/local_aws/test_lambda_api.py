"""The local Lambda API through an unmodified client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardlane_lab.local_aws.lambda_api import LambdaApi
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_lambda.function import LocalFunction
from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.mapping_config import MappingConfig, MappingIdentity
from shardlane_lab.local_lambda.template_values import DestinationSpec, MappingSpec

STREAM_ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
CONSUMER_ARN = f"{STREAM_ARN}/consumer/reader:1780000000"
QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:failed"
UUIDS = tuple(f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2))
HANDLER = """
def handler(event, context):
    if event.get("fail"):
        raise ValueError(event["fail"])
    return {"seen": event, "remaining": context.get_remaining_time_in_millis() > 0}
"""


def through_the_api(folder: Path, use: Callable[[Any], Any]) -> Any:
    """What ``use`` returns, given a client of an API with one function and two mappings."""

    async def main() -> Any:
        (folder / "app.py").write_text(HANDLER, encoding="utf-8")
        config = FunctionConfig(
            name="billing",
            handler="app.handler",
            code_folder=folder,
            timeout_s=20,
            reserved_concurrency=3,
            environment={"PARKING_TABLE": "parking"},
        )
        function = LocalFunction(config)
        api = LambdaApi({"billing": function})
        await api.start()
        for uuid, consumer in zip(UUIDS, (None, "reader"), strict=True):
            api.add(*mapping(uuid, consumer, config))
        await api.watched(UUIDS[1], answering)({})
        client = local_client("lambda", api.endpoint, "us-east-1")
        try:
            return await asyncio.to_thread(use, client)
        finally:
            client.close()
            await api.stop()
            await function.stop()

    return asyncio.run(main())


async def answering(event: dict[str, Any]) -> InvokeResult:
    return InvokeResult(function_error="Unhandled")


def mapping(
    uuid: str, consumer: str | None, config: FunctionConfig
) -> tuple[MappingSpec, MappingIdentity]:
    spec = MappingSpec(
        logical_id=uuid,
        uuid=uuid,
        function="billing",
        stream="orders",
        consumer=consumer,
        config=MappingConfig(
            starting_position="TRIM_HORIZON",
            batch_size=70,
            maximum_retry_attempts=7,
            maximum_record_age_s=600,
            bisect_batch_on_function_error=True,
            report_batch_item_failures=True,
            filters=('{"data": {"n": [1]}}',),
            event_count_metrics=True,
        ),
        on_failure=DestinationSpec(kind="sqs", name="failed", arn=QUEUE_ARN),
        enabled=consumer is not None,
    )
    identity = MappingIdentity(
        uuid=uuid,
        function_name="billing",
        function_arn=config.arn,
        invoke_identity_arn=config.identity_arn,
        stream_name="orders",
        stream_arn=STREAM_ARN,
        consumer_arn=CONSUMER_ARN if consumer else None,
    )
    return spec, identity


def test_mappings_are_listed_by_source_and_function_in_pages(tmp_path: Path) -> None:
    def use(client: Any) -> Any:
        every = client.get_paginator("list_event_source_mappings")
        pages = list(every.paginate(PaginationConfig={"PageSize": 1}))
        of_stream = client.list_event_source_mappings(EventSourceArn=STREAM_ARN)
        of_function = client.list_event_source_mappings(
            FunctionName="arn:aws:lambda:us-east-1:000000000000:function:billing:live"
        )
        return pages, of_stream["EventSourceMappings"], of_function["EventSourceMappings"]

    pages, of_stream, of_function = through_the_api(tmp_path, use)
    assert [[each["UUID"] for each in page["EventSourceMappings"]] for page in pages] == [
        [UUIDS[0]],
        [UUIDS[1]],
    ]
    assert [each["UUID"] for each in of_stream] == [UUIDS[0]]
    assert len(of_function) == 2


def test_a_mapping_shows_its_parameters_state_and_last_result(tmp_path: Path) -> None:
    def use(client: Any) -> Any:
        return [client.get_event_source_mapping(UUID=uuid) for uuid in UUIDS]

    disabled, enabled = through_the_api(tmp_path, use)
    assert (disabled["State"], disabled["LastProcessingResult"]) == (
        "Disabled",
        "No records processed",
    )
    assert (enabled["State"], enabled["LastProcessingResult"]) == (
        "Enabled",
        "PROBLEM: Function call failed",
    )
    assert enabled["EventSourceArn"] == CONSUMER_ARN
    assert enabled["BatchSize"] == 70
    assert enabled["MaximumRetryAttempts"] == 7
    assert enabled["MaximumRecordAgeInSeconds"] == 600
    assert enabled["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert enabled["DestinationConfig"]["OnFailure"]["Destination"] == QUEUE_ARN
    assert enabled["FilterCriteria"]["Filters"] == [{"Pattern": '{"data": {"n": [1]}}'}]
    assert enabled["MetricsConfig"] == {"Metrics": ["EventCount"]}


def test_a_function_is_described_and_invoked(tmp_path: Path) -> None:
    def use(client: Any) -> Any:
        described = client.get_function_configuration(FunctionName="billing")
        reserved = client.get_function_concurrency(FunctionName="billing")
        well = client.invoke(FunctionName="billing", Payload=b'{"n": 1}')
        badly = client.invoke(FunctionName="billing:live", Payload=b'{"fail": "because"}')
        return (
            described,
            reserved["ReservedConcurrentExecutions"],
            json.loads(well["Payload"].read()),
            badly["FunctionError"],
            json.loads(badly["Payload"].read()),
        )

    described, reserved, well, kind, error = through_the_api(tmp_path, use)
    assert (described["Timeout"], described["LoggingConfig"]["LogGroup"]) == (
        20,
        "/aws/lambda/billing",
    )
    assert described["Environment"]["Variables"] == {"PARKING_TABLE": "parking"}
    assert reserved == 3
    assert well == {"seen": {"n": 1}, "remaining": True}
    assert kind == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "because")


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        ("get_function_configuration", {"FunctionName": "none"}, "ResourceNotFoundException"),
        ("get_event_source_mapping", {"UUID": "0" * 36}, "ResourceNotFoundException"),
        (
            "invoke",
            {"FunctionName": "billing", "Payload": b"{"},
            "InvalidRequestContentException",
        ),
        ("list_functions", {}, "UnsupportedOperationException"),
        ("list_event_source_mappings", {"Marker": "x"}, "InvalidParameterValueException"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_it_cannot_answer_is_the_services_error(
    operation: str, arguments: dict[str, Any], code: str, tmp_path: Path
) -> None:
    def use(client: Any) -> Any:
        with pytest.raises(ClientError) as caught:
            getattr(client, operation)(**arguments)
        return caught.value.response["Error"]["Code"]

    assert through_the_api(tmp_path, use) == code
