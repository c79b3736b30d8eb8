"""The parameters of an event source mapping on Kinesis.

Source of ranges and defaults: "Lambda parameters for Amazon Kinesis Data Streams event source
mappings", Lambda Developer Guide, and ``CreateEventSourceMapping``, Lambda API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shardlane_lab.local_lambda.errors import MappingError

StartingPosition = Literal["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]
INFINITE = -1

MAX_EVENT_BYTES = 6 * 1024 * 1024
"""Of one batch as the function gets it (Lambda quotas: invocation payload)."""
MAX_STATE_BYTES = 1024 * 1024
"""Of a tumbling window's state, a shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undocumented:
    """What AWS does not say. Each default is the cautious answer: what holds under it holds
    under the other one too."""

    unknown_identifier: Literal["fail-batch", "ignore"] = "fail-batch"
    """A partial response that names a record which is not in the batch."""
    progress_restarts_retries: bool = False
    """Whether a checkpoint that advances (a partial response) starts the count of retries
    anew. Without it, every partial response consumes one."""
    partial_split_is_free: bool = False
    """With bisect on: whether the split at a reported number consumes no retry, as a split in
    halves does not."""
    first_reported_is_halved: bool = False
    """With bisect on: whether a batch of which the first record is reported is split in halves.
    A split at that record would leave the batch as it is, so without this it is retried whole
    and, in the end, given up whole."""
    age_takes_whole_batch: bool = False
    """Whether one record over the maximum age gives up its whole batch, not itself alone."""
    retry_first_s: float = 1.0
    """Pause before the first retry of a batch; doubled with each further one."""
    retry_longest_s: float = 30.0


_RANGES: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 10_000),
    "maximum_batching_window_s": (0, 300),
    "parallelization_factor": (1, 10),
    "maximum_retry_attempts": (INFINITE, 10_000),
    "tumbling_window_s": (0, 900),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingConfig:
    """Checked when made; raises ``MappingError`` naming the parameter and its range."""

    starting_position: StartingPosition
    starting_timestamp_s: float | None = None
    """Epoch seconds; with ``AT_TIMESTAMP`` only."""
    batch_size: int = 100
    maximum_batching_window_s: int = 0
    parallelization_factor: int = 1
    """Concurrent batches of one shard, split by partition key."""
    maximum_record_age_s: int = INFINITE
    maximum_retry_attempts: int = INFINITE
    bisect_batch_on_function_error: bool = False
    report_batch_item_failures: bool = False
    tumbling_window_s: int = 0
    """0 is none."""
    filters: tuple[str, ...] = ()
    """JSON patterns; a record that matches one of them is kept."""
    event_count_metrics: bool = False
    on_failure: Literal["sqs", "sns", "s3"] | None = None
    """The kind of the destination; S3 gets the event along with the message."""
    undocumented: Undocumented = field(default_factory=Undocumented)

    def __post_init__(self) -> None:
        for name, (lowest, highest) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not lowest <= value <= highest:
                raise MappingError(
                    f"{_service_name(name)} is {value!r}, allowed: {lowest} to {highest}"
                )
        age_s = self.maximum_record_age_s
        if age_s != INFINITE and not 60 <= age_s <= 604_800:
            raise MappingError(
                f"MaximumRecordAgeInSeconds is {age_s}, allowed: -1 (infinite) or 60 to 604800"
            )
        if len(self.filters) > 5:
            raise MappingError(f"FilterCriteria has {len(self.filters)} patterns, allowed: up to 5")
        self._check_start()

    def _check_start(self) -> None:
        allowed = ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")
        if self.starting_position not in allowed:
            raise MappingError(
                f"StartingPosition is {self.starting_position!r}, allowed: {', '.join(allowed)}"
            )
        if (self.starting_position == "AT_TIMESTAMP") != (self.starting_timestamp_s is not None):
            raise MappingError(
                "StartingPositionTimestamp goes with the StartingPosition AT_TIMESTAMP only, "
                "which needs it"
            )


_FIELD_OF = {
    "StartingPosition": "starting_position",
    "StartingPositionTimestamp": "starting_timestamp_s",
    "BatchSize": "batch_size",
    "MaximumBatchingWindowInSeconds": "maximum_batching_window_s",
    "ParallelizationFactor": "parallelization_factor",
    "MaximumRecordAgeInSeconds": "maximum_record_age_s",
    "MaximumRetryAttempts": "maximum_retry_attempts",
    "BisectBatchOnFunctionError": "bisect_batch_on_function_error",
    "TumblingWindowInSeconds": "tumbling_window_s",
}
_READ_ELSEWHERE = (
    "FunctionResponseTypes",
    "FilterCriteria",
    "MetricsConfig",
    "DestinationConfig",
    "EventSourceArn",
    "FunctionName",
    "Enabled",
    "Tags",
    "KmsKeyArn",
)


def _service_name(field_name: str) -> str:
    return next(name for name, each in _FIELD_OF.items() if each == field_name)


def mapping_config(
    properties: Mapping[str, Any], undocumented: Undocumented | None = None
) -> MappingConfig:
    """From the properties of ``AWS::Lambda::EventSourceMapping`` or a request of
    ``CreateEventSourceMapping``. Raises ``MappingError``, also for a property that does not
    apply to Kinesis."""
    unknown = sorted(set(properties) - set(_FIELD_OF) - set(_READ_ELSEWHERE))
    if unknown:
        raise MappingError(f"{', '.join(unknown)}: not a parameter of a mapping on Kinesis")
    if "StartingPosition" not in properties:
        raise MappingError("StartingPosition is missing: a mapping on Kinesis needs it")
    values = {_FIELD_OF[name]: value for name, value in properties.items() if name in _FIELD_OF}
    return MappingConfig(
        **values,
        report_batch_item_failures=_reports_failures(properties),
        filters=tuple(
            each["Pattern"] for each in properties.get("FilterCriteria", {}).get("Filters", [])
        ),
        event_count_metrics="EventCount" in properties.get("MetricsConfig", {}).get("Metrics", []),
        undocumented=undocumented or Undocumented(),
    )


def _reports_failures(properties: Mapping[str, Any]) -> bool:
    types = properties.get("FunctionResponseTypes", [])
    wrong = [each for each in types if each != "ReportBatchItemFailures"]
    if wrong:
        raise MappingError(f"FunctionResponseTypes has {wrong}, allowed: ReportBatchItemFailures")
    return bool(types)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingIdentity:
    """Who the mapping is: what its events, messages and metrics name."""

    uuid: str
    function_name: str
    function_arn: str
    invoke_identity_arn: str
    stream_name: str
    stream_arn: str
    consumer_arn: str | None = None
    """Of the registered stream consumer; ``None`` is a mapping on the stream itself."""

    @property
    def source_arn(self) -> str:
        """The event's ``eventSourceARN``."""
        return self.consumer_arn or self.stream_arn

    @property
    def region(self) -> str:
        return self.stream_arn.split(":")[3]
