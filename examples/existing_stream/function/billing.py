"""Bills orders, each customer's in order. `KeyedConsumer` sets the variables that it reads."""

import os
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import KeyedBatchProcessor, Record
from shardlane.settings import failure_policy

logger = Logger(service="billing")
processor = KeyedBatchProcessor(workers=8, on_failure=failure_policy(os.environ))


def bill(record: Record) -> None:
    order = record.json()
    logger.info("billed order %s", order["id"])


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    return process_partial_response(
        event=event, record_handler=bill, processor=processor, context=context
    )
