"""Reads an app's synthesized templates: what runs on this machine is what ``cdk deploy`` would
send."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shardlane_lab.local_lambda.cloud_assembly import Stack, read_stacks
from shardlane_lab.local_lambda.errors import MappingError, TemplateError
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION, FunctionConfig
from shardlane_lab.local_lambda.intrinsics import Resolver
from shardlane_lab.local_lambda.mapping_config import mapping_config
from shardlane_lab.local_lambda.physical_name import Place, mapping_uuid
from shardlane_lab.local_lambda.template_values import (
    ConsumerSpec,
    DestinationSpec,
    MappingSpec,
    ResourceSpec,
    StreamSpec,
    Template,
)

__all__ = ["Template", "read_assembly"]

Properties = Mapping[str, Any]
BEHIND_MOTO = (
    "AWS::SQS::Queue",
    "AWS::SNS::Topic",
    "AWS::S3::Bucket",
    "AWS::DynamoDB::Table",
    "AWS::DynamoDB::GlobalTable",
    "AWS::Logs::LogGroup",
)


def read_assembly(
    folder: Path, *, region: str = LOCAL_REGION, account: str = LOCAL_ACCOUNT
) -> Template:
    """The cloud assembly that ``cdk synth`` or ``app.synth()`` wrote to ``folder``.

    Raises ``TemplateError`` naming the resource that cannot be understood.
    """
    stacks = read_stacks(folder)
    place = Place(region, account)
    return _Reader(stacks, Resolver(stacks, place), place).read()


class _Reader:
    def __init__(self, stacks: Sequence[Stack], resolver: Resolver, place: Place) -> None:
        self._stacks = stacks
        self._resolver = resolver
        self._place = place

    def read(self) -> Template:
        streams = [self._stream(*each) for each in self._of("AWS::Kinesis::Stream")]
        mappings = [self._mapping(*each) for each in self._of("AWS::Lambda::EventSourceMapping")]
        functions = [
            self._function(*each)
            for each in self._of("AWS::Lambda::Function", wanted=_is_python_folder)
        ]
        _check_functions(mappings, {each.name for each in functions})
        known = {each.name for each in streams}
        attached = sorted({each.stream for each in mappings} - known)
        return Template(
            streams=(*streams, *(StreamSpec(name=each, attached=True) for each in attached)),
            consumers=tuple(
                self._consumer(*each) for each in self._of("AWS::Kinesis::StreamConsumer")
            ),
            functions=tuple(functions),
            mappings=tuple(mappings),
            others=tuple(self._other(*each) for each in self._of(*BEHIND_MOTO)),
            outputs=self._outputs(),
            region=self._place.region,
            account=self._place.account,
        )

    def _of(
        self, *types: str, wanted: Callable[[Stack, Properties], bool] | None = None
    ) -> Iterator[tuple[Stack, str, Properties]]:
        """Resources of these types, in the templates' order, with their properties resolved.
        ``wanted`` sees them unresolved, so that what is not wanted need not be understood."""
        for stack in self._stacks:
            for logical_id, resource in stack.resources.items():
                if resource["Type"] not in types:
                    continue
                if not self._resolver.exists(stack, logical_id):
                    continue
                if wanted is None or wanted(stack, resource.get("Properties", {})):
                    yield stack, logical_id, self._resolver.properties(stack, logical_id)

    def _name(self, stack: Stack, logical_id: str) -> str:
        return self._resolver.identity(stack, logical_id).name

    def _stream(self, stack: Stack, logical_id: str, properties: Properties) -> StreamSpec:
        return StreamSpec(
            name=self._name(stack, logical_id),
            shard_count=properties.get("ShardCount", 1),
            retention_hours=properties.get("RetentionPeriodHours", 24),
            mode=properties.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED"),
        )

    def _consumer(self, stack: Stack, logical_id: str, properties: Properties) -> ConsumerSpec:
        stream, _ = _source(properties["StreamARN"])
        return ConsumerSpec(name=self._name(stack, logical_id), stream=stream)

    def _other(self, stack: Stack, logical_id: str, properties: Properties) -> ResourceSpec:
        return ResourceSpec(
            type=stack.resources[logical_id]["Type"],
            name=self._name(stack, logical_id),
            properties=properties,
        )

    def _function(self, stack: Stack, logical_id: str, properties: Properties) -> FunctionConfig:
        where = f"{stack.name}/{logical_id}"
        try:
            return FunctionConfig(
                name=self._name(stack, logical_id),
                handler=properties["Handler"],
                code_folder=_asset(stack, properties["Code"], where),
                layer_folders=tuple(
                    self._layer(arn, where) for arn in properties.get("Layers", [])
                ),
                environment={
                    name: str(value)
                    for name, value in properties.get("Environment", {})
                    .get("Variables", {})
                    .items()
                },
                timeout_s=float(properties.get("Timeout", 3)),
                memory_mb=int(properties.get("MemorySize", 128)),
                runtime=properties["Runtime"],
                reserved_concurrency=properties.get("ReservedConcurrentExecutions"),
                log_group=properties.get("LoggingConfig", {}).get("LogGroup"),
                role_arn=properties.get("Role"),
                region=self._place.region,
                account=self._place.account,
            )
        except ValueError as error:
            raise TemplateError(f"{where}: {error}") from error

    def _layer(self, arn: str, where: str) -> Path:
        for stack, logical_id, properties in self._of("AWS::Lambda::LayerVersion"):
            if self._resolver.resolve(stack, {"Ref": logical_id}) == arn:
                return _asset(stack, properties["Content"], f"{stack.name}/{logical_id}")
        raise TemplateError(
            f"{where}: the layer {arn} is not part of the app, so its files are not here"
        )

    def _mapping(self, stack: Stack, logical_id: str, properties: Properties) -> MappingSpec:
        where = f"{stack.name}/{logical_id}"
        stream, consumer = _source(properties["EventSourceArn"], where)
        destination = (
            properties.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
        )
        on_failure = _destination(destination, where) if destination else None
        try:
            config = mapping_config(properties)
        except MappingError as error:
            raise MappingError(f"{where}: {error}") from error
        return MappingSpec(
            logical_id=logical_id,
            uuid=mapping_uuid(stack.name, logical_id),
            function=_last(properties["FunctionName"]),
            stream=stream,
            consumer=consumer,
            config=replace(config, on_failure=on_failure.kind if on_failure else None),
            on_failure=on_failure,
            enabled=properties.get("Enabled", True),
        )

    def _outputs(self) -> dict[str, str]:
        outputs = {}
        for stack in self._stacks:
            for name, output in stack.template.get("Outputs", {}).items():
                if "Export" in output:
                    continue
                try:
                    outputs[name] = str(self._resolver.resolve(stack, output["Value"]))
                except TemplateError:
                    continue  # a value that only AWS knows; nothing here runs on it
        return outputs


def _is_python_folder(stack: Stack, properties: Properties) -> bool:
    """Not a function that the CDK adds for itself (inline code, JavaScript, a runtime that it
    looks up by region)."""
    runtime, key = properties.get("Runtime"), properties.get("Code", {}).get("S3Key")
    return isinstance(runtime, str) and runtime.startswith("python") and key in stack.assets


def _asset(stack: Stack, code: Properties, where: str) -> Path:
    key = str(code.get("S3Key"))
    if key not in stack.assets:
        raise TemplateError(
            f"{where}: its code {dict(code)} is no asset of the assembly; "
            "only folders that the CDK stages can run here"
        )
    return stack.assets[key]


def _source(arn: str, where: str = "") -> tuple[str, str | None]:
    """Stream and consumer name of a mapping's source or of a consumer's stream."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[2] != "kinesis" or not parts[5].startswith("stream/"):
        raise TemplateError(f"{where}: the source {arn!r} is no Kinesis stream or stream consumer")
    stream, _, consumer = parts[5].removeprefix("stream/").partition("/consumer/")
    return stream, consumer.split(":")[0] or None


def _destination(arn: str, where: str) -> DestinationSpec:
    match arn.split(":")[2]:
        case "sqs" | "sns" | "s3" as kind:
            return DestinationSpec(kind=kind, name=_last(arn), arn=arn)
    raise TemplateError(
        f"{where}: the on-failure destination {arn!r} is no SQS queue, SNS topic or S3 bucket"
    )


def _last(arn_or_name: str) -> str:
    return arn_or_name.rsplit(":", 1)[-1]


def _check_functions(mappings: Sequence[MappingSpec], names: set[str]) -> None:
    for each in mappings:
        if each.function not in names:
            raise TemplateError(
                f"{each.logical_id}: its function {each.function!r} cannot run here; "
                f"functions with Python code in a folder: {sorted(names)}"
            )
