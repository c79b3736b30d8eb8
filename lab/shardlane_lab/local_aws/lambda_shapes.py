"""Functions and mappings of the template as the Lambda API describes them."""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.local_lambda.template_values import MappingSpec


def function_shape(config: FunctionConfig) -> dict[str, Any]:
    """The answer of GetFunctionConfiguration."""
    return {
        "FunctionName": config.name,
        "FunctionArn": config.arn,
        "Runtime": config.runtime,
        "Role": config.identity_arn,
        "Handler": config.handler,
        "Timeout": round(config.timeout_s),
        "MemorySize": config.memory_mb,
        "Version": "$LATEST",
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Environment": {"Variables": dict(config.environment)},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": config.log_group_name},
    }


def mapping_shape(spec: MappingSpec, identity: MappingIdentity, result: str) -> dict[str, Any]:
    """The answer of GetEventSourceMapping."""
    config = spec.config
    shape: dict[str, Any] = {
        "UUID": spec.uuid,
        "EventSourceArn": identity.source_arn,
        "FunctionArn": identity.function_arn,
        "State": "Enabled" if spec.enabled else "Disabled",
        "StateTransitionReason": "User action",
        "LastProcessingResult": result,
        "StartingPosition": config.starting_position,
        "BatchSize": config.batch_size,
        "MaximumBatchingWindowInSeconds": config.maximum_batching_window_s,
        "ParallelizationFactor": config.parallelization_factor,
        "MaximumRecordAgeInSeconds": config.maximum_record_age_s,
        "MaximumRetryAttempts": config.maximum_retry_attempts,
        "BisectBatchOnFunctionError": config.bisect_batch_on_function_error,
        "TumblingWindowInSeconds": config.tumbling_window_s,
        "FunctionResponseTypes": ["ReportBatchItemFailures"]
        if config.report_batch_item_failures
        else [],
        "DestinationConfig": {"OnFailure": {"Destination": spec.on_failure.arn}}
        if spec.on_failure
        else {"OnFailure": {}},
    }
    if config.starting_timestamp_s is not None:
        shape["StartingPositionTimestamp"] = config.starting_timestamp_s
    if config.filters:
        shape["FilterCriteria"] = {"Filters": [{"Pattern": each} for each in config.filters]}
    if config.event_count_metrics:
        shape["MetricsConfig"] = {"Metrics": ["EventCount"]}
    return shape
