"""A synthesized application as the tests look at it: plain JSON, references followed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple


class Resource(NamedTuple):
    stack: str
    logical_id: str
    body: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.body["Type"])

    @property
    def properties(self) -> dict[str, Any]:
        properties: dict[str, Any] = self.body.get("Properties", {})
        return properties


@dataclass(frozen=True)
class CloudAssembly:
    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text("utf-8"))
        return manifest

    @cached_property
    def templates(self) -> dict[str, dict[str, Any]]:
        """By stack name."""
        return {
            path.name.removesuffix(".template.json"): json.loads(path.read_text("utf-8"))
            for path in sorted(self.folder.glob("*.template.json"))
        }

    @cached_property
    def resources(self) -> list[Resource]:
        return [
            Resource(stack, logical_id, body)
            for stack, template in self.templates.items()
            for logical_id, body in template["Resources"].items()
        ]

    @cached_property
    def outputs(self) -> dict[str, Any]:
        """The outputs that people and the lab read, without the exports between stacks."""
        return {
            name: output["Value"]
            for template in self.templates.values()
            for name, output in template.get("Outputs", {}).items()
            if "Export" not in output
        }

    def of_type(self, resource_type: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.type == resource_type]

    def one(self, resource_type: str, **properties: Any) -> Resource:
        """The only resource of the type whose properties include ``properties``."""
        found = [
            resource
            for resource in self.of_type(resource_type)
            if properties.items() <= _hashable(resource.properties).items()
        ]
        assert len(found) == 1, f"{len(found)} {resource_type} with {properties}"
        return found[0]

    def follow(self, value: Any) -> tuple[Resource, str]:
        """The resource and the attribute that a reference means, through imports too."""
        if "Fn::ImportValue" in value:
            return self.follow(self._exports[value["Fn::ImportValue"]])
        if "Ref" in value:
            return self._resource(value["Ref"]), "Ref"
        if "Fn::Join" in value:  # an ARN with something after it: what it is of
            parts = value["Fn::Join"][1]
            resource, attribute = self.follow(next(part for part in parts if type(part) is dict))
            return resource, attribute + "".join(part for part in parts if type(part) is str)
        logical_id, attribute = value["Fn::GetAtt"]
        return self._resource(logical_id), attribute

    def statements(self, role: Resource) -> list[dict[str, Any]]:
        """All that the role may do, wherever it is written."""
        assert "ManagedPolicyArns" not in role.properties
        documents = [each["PolicyDocument"] for each in role.properties.get("Policies", [])]
        documents += [
            policy.properties["PolicyDocument"]
            for policy in self.of_type("AWS::IAM::Policy")
            if {"Ref": role.logical_id} in policy.properties["Roles"]
        ]
        return [statement for document in documents for statement in document["Statement"]]

    def asset_hashes(self) -> dict[str, str]:
        """Construct → what its code is stored under in the assets' bucket: the hash of it."""
        return {
            each.logical_id[:-8]: each.properties[code]["S3Key"]
            for code in ("Code", "Content")
            for each in self.resources
            if "S3Key" in each.properties.get(code, {})
        }

    @cached_property
    def _exports(self) -> dict[str, Any]:
        return {
            output["Export"]["Name"]: output["Value"]
            for template in self.templates.values()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def _resource(self, logical_id: str) -> Resource:
        found = [each for each in self.resources if each.logical_id == logical_id]
        assert len(found) == 1, f"{len(found)} resources have the logical id {logical_id}"
        return found[0]


def _hashable(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if isinstance(value, str | int)}
