"""What an app's synthesized templates say about streams, functions and mappings, as values: what
runs on this machine is read from what ``cdk deploy`` would send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shardlane_lab.local_lambda.errors import UnknownFunction
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION, FunctionConfig
from shardlane_lab.local_lambda.mapping_config import MappingConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    name: str
    shard_count: int = 1
    retention_hours: int = 24
    mode: Literal["PROVISIONED", "ON_DEMAND"] = "PROVISIONED"
    attached: bool = False
    """True for a stream that the app only names by its ARN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSpec:
    """A registered stream consumer (enhanced fan-out)."""

    name: str
    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec:
    """Where a mapping sends what it gave up."""

    kind: Literal["sqs", "sns", "s3"]
    name: str
    """Of the queue, topic or bucket."""
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSpec:
    """An event source mapping; ``consumer`` is ``None`` for one on the stream itself."""

    logical_id: str
    uuid: str
    """What ``Ref`` of the mapping gives, and the dimension of its metrics."""
    function: str
    stream: str
    consumer: str | None
    config: MappingConfig
    on_failure: DestinationSpec | None
    enabled: bool = True

    @property
    def kind(self) -> Literal["standard", "efo"]:
        return "standard" if self.consumer is None else "efo"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource of a service that runs behind moto: its name and resolved properties."""

    type: str
    name: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """All stacks of an app together."""

    streams: tuple[StreamSpec, ...]
    consumers: tuple[ConsumerSpec, ...]
    functions: tuple[FunctionConfig, ...]
    mappings: tuple[MappingSpec, ...]
    others: tuple[ResourceSpec, ...] = ()
    """Queues, topics, buckets, tables and log groups."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """By output name, without exports between stacks; an output whose value only AWS knows is
    left out."""
    region: str = LOCAL_REGION
    account: str = LOCAL_ACCOUNT

    def function(self, name: str) -> FunctionConfig:
        """Raises ``UnknownFunction``, which lists the names that there are."""
        for each in self.functions:
            if each.name == name:
                return each
        raise UnknownFunction(name, (each.name for each in self.functions))

    def mappings_of(self, function_name: str) -> tuple[MappingSpec, ...]:
        return tuple(each for each in self.mappings if each.function == function_name)

    def stream(self, name: str) -> StreamSpec:
        return next(each for each in self.streams if each.name == name)
