"""From a CloudFormation or SAM template to what the rules look at. Pure.

A parameter with a default is taken for its default; what only the deployment knows is unknown,
and no rule claims anything about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shardlane.operations.lint.inspected import (
    UNKNOWN,
    Inspected,
    InspectedAlarm,
    InspectedConsumer,
    InspectedMapping,
    Unknown,
)

NOT_OF_KINESIS = ("ProvisionedPollerConfig", "ScalingConfig", "LoggingConfig")
_OTHER_SOURCES = ("dynamodb", "kafka", "msk", "sqs", "docdb", "activemq", "rabbitmq", "amq")


def inspect_template(template: Mapping[str, Any]) -> Inspected:
    values = _Values(template)
    return Inspected(
        mappings=tuple(_mappings(values)),
        alarms=tuple(_alarms(values)),
        consumers=tuple(
            InspectedConsumer(where=name, has_tags=bool(properties.get("Tags")))
            for name, properties in values.of_type("AWS::Kinesis::StreamConsumer")
        ),
        acknowledged=dict(_acknowledged(template["Resources"])),
    )


class _Values:
    """The template's resources, and what can be said of an intrinsic function."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        self._resources = template["Resources"]
        parameters = template.get("Parameters") or {}
        self._defaults = {
            name: each["Default"]
            for name, each in parameters.items()
            if isinstance(each, dict) and "Default" in each
        }

    def of_type(self, type_: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, resource in self._resources.items():
            if isinstance(resource, dict) and resource.get("Type") == type_:
                properties = resource.get("Properties")
                yield name, properties if isinstance(properties, dict) else {}

    def type_of(self, name: str) -> str | None:
        resource = self._resources.get(name)
        return resource.get("Type") if isinstance(resource, dict) else None

    def property(self, name: str, property_: str) -> Any:
        resource = self._resources.get(name)
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        return properties.get(property_) if isinstance(properties, dict) else None

    def plain(self, value: Any) -> Any:
        """The value, a parameter's default, or ``UNKNOWN``."""
        if isinstance(value, dict) and len(value) == 1:
            ((function, of),) = value.items()
            if function == "Ref" and of in self._defaults:
                return self._defaults[of]
            if function in ("Ref", "Condition") or function.startswith("Fn::"):
                return UNKNOWN
        return value

    def number(self, value: Any) -> int | Unknown | None:
        plain = self.plain(value)
        if plain is None or plain is UNKNOWN:
            return plain
        try:
            return int(plain)
        except (TypeError, ValueError):
            return UNKNOWN


def _mappings(values: _Values) -> Iterator[InspectedMapping]:
    for name, properties in values.of_type("AWS::Lambda::EventSourceMapping"):
        yield from _mapping(name, properties.get("EventSourceArn"), properties, values)
    for name, properties in values.of_type("AWS::Serverless::Function"):
        events = properties.get("Events")
        for event, each in events.items() if isinstance(events, dict) else ():
            if isinstance(each, dict) and each.get("Type") == "Kinesis":
                of = each.get("Properties") or {}
                yield from _mapping(f"{name}.Events.{event}", of.get("Stream"), of, values)


def _mapping(
    where: str, source: Any, properties: Mapping[str, Any], values: _Values
) -> Iterator[InspectedMapping]:
    kind = _kind(source, properties, values)
    if kind is None:
        return
    batch_size = values.number(properties.get("BatchSize"))
    yield InspectedMapping(
        where=where,
        source=_source_id(source, values),
        fan_out=kind == "consumer",
        retries=values.number(properties.get("MaximumRetryAttempts")),
        age_s=values.number(properties.get("MaximumRecordAgeInSeconds")),
        on_failure=_on_failure(properties.get("DestinationConfig"), values),
        partial=_reports(properties.get("FunctionResponseTypes"), values),
        batch_size=100 if batch_size is None else batch_size,
        starting_position=values.plain(properties.get("StartingPosition")),
        filters=tuple(_patterns(properties.get("FilterCriteria"), values)),
        ignored=tuple(each for each in NOT_OF_KINESIS if properties.get(each)),
    )


def _kind(source: Any, properties: Mapping[str, Any], values: _Values) -> str | None:
    """``"stream"``, ``"consumer"``, or None for a mapping on something else."""
    type_ = values.type_of(_resource_in(source) or "")
    if type_ is not None:
        return _kind_of_resource(type_, source)
    known = values.plain(source)
    text = json.dumps(source if isinstance(known, Unknown) else known, default=str)
    if ":kinesis:" in text:
        return "consumer" if "/consumer/" in text else "stream"
    if '"arn:' in text or "StartingPosition" not in properties:
        return None
    # An import or a parameter: only a stream has a starting position, and the name tells others.
    if properties.get("Topics") or any(each in text.lower() for each in _OTHER_SOURCES):
        return None
    return "consumer" if "consumer" in text.lower() else "stream"


def _kind_of_resource(type_: str, source: Any) -> str | None:
    if type_ == "AWS::Kinesis::StreamConsumer":
        # A consumer names its stream too, and a mapping on that polls.
        return "stream" if "StreamARN" in json.dumps(source) else "consumer"
    return "stream" if type_ == "AWS::Kinesis::Stream" else None


def _resource_in(source: Any) -> str | None:
    """The logical id that ``Ref`` or ``Fn::GetAtt`` names."""
    if not isinstance(source, dict) or len(source) != 1:
        return None
    ((function, of),) = source.items()
    if function == "Ref" and isinstance(of, str):
        return of
    if function == "Fn::GetAtt":
        parts = of.split(".") if isinstance(of, str) else of
        return str(parts[0]) if isinstance(parts, list) and parts else None
    return None


def _source_id(source: Any, values: _Values) -> str:
    """Equal for all ways to name one stream, as far as the template shows it."""
    name = _resource_in(source)
    if name is None or "StreamARN" not in json.dumps(source):
        return name or json.dumps(source, sort_keys=True, default=str)
    stream = values.property(name, "StreamARN")
    return _resource_in(stream) or json.dumps(stream, sort_keys=True, default=str)


def _on_failure(config: Any, values: _Values) -> bool | Unknown:
    for name in ("OnFailure", "Destination"):
        config = values.plain(config)
        if isinstance(config, Unknown):
            return Unknown.UNKNOWN
        if not isinstance(config, dict) or not config.get(name):
            return False
        config = config[name]
    return True


def _reports(types: Any, values: _Values) -> bool | Unknown:
    plain = values.plain(types)
    if isinstance(plain, Unknown):
        return plain
    each = [values.plain(one) for one in plain] if isinstance(plain, list) else [plain]
    if "ReportBatchItemFailures" in each:
        return True
    return Unknown.UNKNOWN if UNKNOWN in each else False


def _patterns(criteria: Any, values: _Values) -> Iterator[Any]:
    plain = values.plain(criteria)
    filters = plain.get("Filters") if isinstance(plain, dict) else None
    for each in filters if isinstance(filters, list) else ():
        if values.plain(each) is not UNKNOWN:
            yield values.plain(each.get("Pattern")) if isinstance(each, dict) else None


def _acknowledged(resources: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """``Metadata: {shardlane: {acknowledged: {RULE: reason}}}``; without a reason it is none."""
    for name, resource in resources.items():
        found: Any = resource
        for key in ("Metadata", "shardlane", "acknowledged"):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict):
            reasons = {rule: each.strip() for rule, each in found.items() if isinstance(each, str)}
            yield name, {rule: reason for rule, reason in reasons.items() if reason}


def _alarms(values: _Values) -> Iterator[InspectedAlarm]:
    for name, properties in values.of_type("AWS::CloudWatch::Alarm"):
        for metric in _alarm_metrics(properties):
            namespace = values.plain(metric.get("Namespace"))
            if isinstance(namespace, str):
                yield InspectedAlarm(
                    where=name,
                    namespace=namespace,
                    metric=str(values.plain(metric.get("MetricName"))),
                    has_dimensions=bool(metric.get("Dimensions")),
                )


def _alarm_metrics(properties: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Its own metric, or those of its metric math."""
    if "Namespace" in properties:
        yield properties
    metrics = properties.get("Metrics")
    for each in metrics if isinstance(metrics, list) else ():
        stat = each.get("MetricStat") if isinstance(each, dict) else None
        if isinstance(stat, dict) and isinstance(stat.get("Metric"), dict):
            yield stat["Metric"]
