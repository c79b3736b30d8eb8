"""What an update of a stack would create anew: the properties that CloudFormation can only set when
it creates a resource are listed in the resource type's own schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from tests.infra.cloud_assembly import CloudAssembly, Resource

KEPT = (
    "AWS::DynamoDB::Table",
    "AWS::Kinesis::Stream",
    "AWS::Kinesis::StreamConsumer",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
)
"""Types whose resources hold data or a place in a stream."""


def lost(before: CloudAssembly, after: CloudAssembly) -> set[str]:
    """Logical ids of resources of the kept types that ``after`` deletes or replaces."""
    later = {(each.stack, each.logical_id): each for each in after.resources}
    kept = [each for each in before.resources if each.type in KEPT]
    gone = {each.logical_id for each in kept if (each.stack, each.logical_id) not in later}
    found = set(gone)
    while True:
        more = {
            each.logical_id
            for each in kept
            if each.logical_id not in found
            and _replaced(each, later[each.stack, each.logical_id], found)
        }
        if not more:
            return found
        found |= more


def _replaced(before: Resource, after: Resource, replaced: set[str]) -> bool:
    """Also if one of its unchangeable properties refers to a resource that is replaced."""
    if before.type != after.type:
        return True
    for name in create_only(before.type):
        value = before.properties.get(name)
        if value != after.properties.get(name):
            return True
        if any(each in json.dumps(value) for each in replaced):
            return True
    return False


@cache
def create_only(resource_type: str) -> frozenset[str]:
    """Top-level properties, e.g. ``StreamARN`` of a stream consumer."""
    schema: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(
        "us-east-1", resource_type
    ).schema
    return frozenset(_names(schema))


def _names(schema: dict[str, Any]) -> Iterator[str]:
    for pointer in schema.get("createOnlyProperties", []):
        yield pointer.removeprefix("/properties/").split("/")[0]
