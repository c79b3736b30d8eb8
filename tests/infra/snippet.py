"""The construct's own template as plain CloudFormation: parameters instead of the app's resources,
plain names instead of the CDK's."""

from __future__ import annotations

import json
import re
from typing import Any

HEAD: dict[str, Any] = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Description": "A Kinesis event source mapping for a function that uses KeyedBatchProcessor",
    "Parameters": {
        "FunctionName": {
            "Type": "String",
            "Description": "Its variables FAILURE_POLICY, PARKING_TABLE and PARKING_CONSUMER are "
            "park and this stack's outputs",
        },
        "FunctionRoleName": {"Type": "String"},
        "StreamArn": {"Type": "String"},
        "Consumer": {
            "Type": "String",
            "AllowedPattern": "[A-Za-z0-9._-]{1,100}",
            "Description": "The name of this mapping in the parking lot",
        },
    },
}
LEFT_OUT = ("AWS::Lambda::Function", "AWS::IAM::Role", "AWS::CDK::Metadata")


def plain(template: dict[str, Any], *, consumer: str, stream_arn: str) -> dict[str, Any]:
    """``template`` of a stack with one function and one ``KeyedConsumer`` on ``stream_arn``."""
    resources = template["Resources"]
    names = {
        each: _plain_name(each, body["Type"], consumer)
        for each, body in resources.items()
        if body["Type"] not in LEFT_OUT
    }
    kinds = {each: body["Type"] for each, body in resources.items()}
    kept = {
        names[each]: _replaced(
            {key: value for key, value in body.items() if key != "Metadata"},
            names,
            kinds,
            consumer,
            stream_arn,
        )
        for each, body in resources.items()
        if each in names
    }
    return HEAD | {
        "Resources": kept,
        "Outputs": {
            "ParkingTable": {"Value": {"Ref": "LotTable"}},
            "ParkingConsumer": {"Value": {"Ref": "Consumer"}},
            "OnFailureQueueUrl": {"Value": {"Ref": "OnFailure"}},
            "MappingId": {"Value": {"Ref": "Mapping"}},
        },
    }


def _plain_name(logical_id: str, kind: str, consumer: str) -> str:
    name = re.sub(r"[0-9A-F]{8}$", "", logical_id).removeprefix(consumer.capitalize())
    return "Grants" if kind == "AWS::IAM::Policy" else name


def _replaced(
    value: Any, names: dict[str, str], kinds: dict[str, str], consumer: str, stream_arn: str
) -> Any:
    if isinstance(value, list):
        return [_replaced(each, names, kinds, consumer, stream_arn) for each in value]
    if value == stream_arn:
        return {"Ref": "StreamArn"}
    if isinstance(value, str):
        return _text(value, names, consumer)
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"} and value["Ref"] in kinds:
        kind = kinds[value["Ref"]]
        if kind == "AWS::Lambda::Function":
            return {"Ref": "FunctionName"}
        if kind == "AWS::IAM::Role":
            return {"Ref": "FunctionRoleName"}
        return {"Ref": names[value["Ref"]]}
    if set(value) == {"Fn::GetAtt"}:
        target, attribute = value["Fn::GetAtt"]
        return {"Fn::GetAtt": [names[target], attribute]}
    return {key: _replaced(each, names, kinds, consumer, stream_arn) for key, each in value.items()}


def _text(value: str, names: dict[str, str], consumer: str) -> Any:
    if value in names:  # DependsOn
        return names[value]
    if value == consumer:
        return {"Ref": "Consumer"}
    if value.startswith((f"{consumer}-", f"{consumer}: ")):
        return {"Fn::Sub": "${Consumer}" + value.removeprefix(consumer)}
    # The CDK's name of a policy is made of its logical id.
    if value.endswith("DefaultPolicy" + value[-8:]) and re.fullmatch(r"[0-9A-F]{8}", value[-8:]):
        return {"Fn::Sub": "${Consumer}-reads-and-parks"}
    return value


def text(template: dict[str, Any]) -> str:
    import yaml

    head = (
        "# What shardlane_cdk's KeyedConsumer makes, for a function and a stream that are there.\n"
        "# Made by a test from the construct itself; see docs/constructs.md.\n"
    )
    return head + str(yaml.safe_dump(json.loads(json.dumps(template)), sort_keys=False, width=96))
