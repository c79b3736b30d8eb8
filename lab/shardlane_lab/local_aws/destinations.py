"""On-failure messages on their way to a queue, a topic or a bucket."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

from shardlane_lab.local_lambda.on_failure import object_key
from shardlane_lab.local_lambda.ports import Destination
from shardlane_lab.local_lambda.template_values import DestinationSpec

Send = Callable[[dict[str, Any]], Any]


def destination(
    spec: DestinationSpec, mapping_uuid: str, client: Callable[[str], Any]
) -> Destination:
    """Sends in a thread. ``client`` gives the client of a service by its name."""
    send = _sender(spec, mapping_uuid, client)

    async def deliver(message: dict[str, Any]) -> None:
        await asyncio.to_thread(send, message)

    return deliver


def _sender(spec: DestinationSpec, mapping_uuid: str, client: Callable[[str], Any]) -> Send:
    match spec.kind:
        case "sqs":
            sqs = client("sqs")
            url = sqs.get_queue_url(QueueName=spec.name)["QueueUrl"]
            return lambda message: sqs.send_message(QueueUrl=url, MessageBody=json.dumps(message))
        case "sns":
            sns = client("sns")
            return lambda message: sns.publish(TopicArn=spec.arn, Message=json.dumps(message))
        case "s3":
            s3 = client("s3")
            return lambda message: s3.put_object(
                Bucket=spec.name,
                Key=object_key(message, mapping_uuid, uuid.uuid4()),
                Body=json.dumps(message).encode(),
            )
