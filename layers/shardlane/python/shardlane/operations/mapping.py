"""An event source mapping as its settings describe it."""

from __future__ import annotations

from collections.abc import Mapping as Fields
from dataclasses import dataclass
from typing import Any

INFINITE = -1
"""Of retries and of age: no bound but the stream's retention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """From the Lambda API's EventSourceMappingConfiguration; defaults are the service's."""

    uuid: str
    function: str
    """The function's name."""
    source_arn: str
    """Of the stream, or of the stream consumer."""
    state: str = "Enabled"
    last_result: str = ""
    """``LastProcessingResult``, in the service's words."""
    batch_size: int = 100
    retries: int = INFINITE
    age_s: int = INFINITE
    bisect: bool = False
    partial: bool = False
    """Whether ``ReportBatchItemFailures`` is on."""
    parallelization: int = 1
    on_failure: str | None = None
    """The destination's ARN."""
    event_counts: bool = False
    """Whether EventCount metrics are on."""
    starting_position: str = ""
    filters: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return stream_of(self.source_arn)

    @property
    def stream_arn(self) -> str:
        return self.source_arn.partition("/consumer/")[0]

    @property
    def consumer(self) -> str | None:
        """Of a mapping with enhanced fan-out: the registered consumer's name."""
        _, slash, rest = self.source_arn.partition("/consumer/")
        return rest.rpartition(":")[0] if slash else None


def stream_of(arn: str) -> str:
    """The stream's name in its ARN or in that of one of its consumers."""
    return arn.partition(":stream/")[2].partition("/")[0]


def is_kinesis(arn: str) -> bool:
    return ":kinesis:" in arn and ":stream/" in arn


def mapping_from(fields: Fields[str, Any]) -> Mapping:
    """From one entry of ListEventSourceMappings."""
    destination = (fields.get("DestinationConfig") or {}).get("OnFailure") or {}
    metrics = (fields.get("MetricsConfig") or {}).get("Metrics") or []
    filters = (fields.get("FilterCriteria") or {}).get("Filters") or []
    return Mapping(
        uuid=fields["UUID"],
        function=function_name(fields["FunctionArn"]),
        source_arn=fields["EventSourceArn"],
        state=fields.get("State", "Enabled"),
        last_result=fields.get("LastProcessingResult") or "",
        batch_size=fields.get("BatchSize", 100),
        retries=_or_infinite(fields.get("MaximumRetryAttempts")),
        age_s=_or_infinite(fields.get("MaximumRecordAgeInSeconds")),
        bisect=bool(fields.get("BisectBatchOnFunctionError")),
        partial="ReportBatchItemFailures" in (fields.get("FunctionResponseTypes") or []),
        parallelization=fields.get("ParallelizationFactor") or 1,
        on_failure=destination.get("Destination"),
        event_counts="EventCount" in metrics,
        starting_position=fields.get("StartingPosition") or "",
        filters=tuple(each.get("Pattern", "") for each in filters),
    )


def function_name(arn: str) -> str:
    """The name in a function's ARN, with its alias or version if there is one."""
    return arn.partition(":function:")[2] or arn


def _or_infinite(value: int | None) -> int:
    return INFINITE if value is None else value
