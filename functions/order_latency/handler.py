"""Measures how late each record arrives. Deployed twice, on a standard and on an EFO mapping: the
wiring differs, this code does not.

The batch is handled by partition key. Every record becomes one entry of a latency log line and
two metric values; a record that is no load record fails alone, with its reason in the log.
"""

from __future__ import annotations

import os
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import BadEvent, KeyedBatchProcessor, Record
from shardlane.batch_metrics import BatchMetrics
from shardlane.clock import SystemClock
from shardlane.latency import MESSAGE, Latency, latency_of, log_fields_of
from shardlane.settings import FunctionSettings, failure_policy

settings = FunctionSettings.from_environ(os.environ)
logger = Logger(
    service=settings.powertools_service_name, level=settings.powertools_log_level, location=None
)
metrics = Metrics(
    service=settings.powertools_service_name, namespace=settings.powertools_metrics_namespace
)
metrics.set_default_dimensions(label=settings.label)
processor = KeyedBatchProcessor(
    workers=settings.workers,
    on_failure=failure_policy(os.environ),
    log_keys=settings.log_keys,
    logger=logger,
)
processor.metrics = BatchMetrics(settings.parking_consumer or settings.label)
clock = SystemClock()


@logger.inject_lambda_context
def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    """Returns the lowest sequence number that is to be delivered again, if there is one."""
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list):
        raise BadEvent("the event has no list Records; is the source a Kinesis mapping?")
    if not records:
        return {"batchItemFailures": []}

    latencies: list[Latency] = []

    def measure(record: Record) -> None:
        recv_ms = clock.wall_ms()
        latency = latency_of(
            record,
            label=settings.label,
            recv_ms=recv_ms,
            batch=len(records),
            with_key=settings.log_keys,
        )
        latencies.append(latency)
        if latency.handle_ms:
            clock.sleep_s(latency.handle_ms / 1000)

    response = process_partial_response(
        event=event, record_handler=measure, processor=processor, context=context
    )
    publish(list(latencies))
    return response


def publish(latencies: list[Latency]) -> None:
    """Writes log lines and metric values to standard output, where Lambda picks them up."""
    for fields in log_fields_of(latencies):
        logger.info(MESSAGE, extra={MESSAGE: fields})
    for each in latencies:
        metrics.add_metric("ArrivalToReceive", MetricUnit.Milliseconds, each.arrival_to_receive_ms)
        metrics.add_metric("SendToArrival", MetricUnit.Milliseconds, each.send_to_arrival_ms)
    if latencies:
        metrics.flush_metrics()
