"""CloudFormation's intrinsic functions, resolved against the names of this machine.

Source: "Intrinsic function reference", CloudFormation template reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardlane_lab.local_lambda.cloud_assembly import Stack
from shardlane_lab.local_lambda.errors import TemplateError
from shardlane_lab.local_lambda.physical_name import (
    NAME_PROPERTY,
    Identity,
    Place,
    attribute,
    default_name,
    reference,
)

_NO_VALUE = object()
"""``AWS::NoValue``: the property that has it is left out."""
_VARIABLE = re.compile(r"\$\{(!?)([^}]+)\}")


class Resolver:
    """Resolves values of every stack of an app; what is asked for is resolved, nothing else, so a
    function that is not understood matters only where it is used."""

    def __init__(self, stacks: Sequence[Stack], place: Place) -> None:
        self._stacks = {stack.name: stack for stack in stacks}
        self._place = place
        self._exports = {
            self.resolve(stack, output["Export"]["Name"]): (stack, output["Value"])
            for stack in stacks
            for output in stack.template.get("Outputs", {}).values()
            if "Export" in output
        }

    def properties(self, stack: Stack, logical_id: str) -> dict[str, Any]:
        """The resource's properties, resolved. Raises ``TemplateError`` naming the resource."""
        resource = stack.resources[logical_id]
        try:
            resolved = self.resolve(stack, resource.get("Properties", {}))
        except TemplateError as error:
            raise TemplateError(f"{stack.name}/{logical_id}: {error}") from error
        assert isinstance(resolved, dict)
        return resolved

    def identity(self, stack: Stack, logical_id: str) -> Identity:
        resource = stack.resources.get(logical_id)
        if resource is None:
            raise TemplateError(f"{logical_id!r} is no resource of the stack {stack.name}")
        kind, properties = resource["Type"], resource.get("Properties", {})
        chosen = self.resolve(stack, properties.get(NAME_PROPERTY.get(kind, ""), None))
        parent_arn = ""
        if kind == "AWS::Kinesis::StreamConsumer":
            parent_arn = self.resolve(stack, properties["StreamARN"])
        return Identity(
            stack.name,
            logical_id,
            kind,
            chosen or default_name(stack.name, logical_id, kind),
            parent_arn,
        )

    def exists(self, stack: Stack, logical_id: str) -> bool:
        """False for a resource whose ``Condition`` does not hold."""
        condition = stack.resources[logical_id].get("Condition")
        return condition is None or self._condition(stack, condition)

    def resolve(self, stack: Stack, value: Any) -> Any:
        """``value`` with every intrinsic function replaced."""
        resolved = self._resolve(stack, value)
        return None if resolved is _NO_VALUE else resolved

    def _resolve(self, stack: Stack, value: Any) -> Any:
        if isinstance(value, list):
            items = [self._resolve(stack, item) for item in value]
            return [item for item in items if item is not _NO_VALUE]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name == "Ref" or name.startswith("Fn::"):
                return self._call(stack, name, argument)
        resolved = {key: self._resolve(stack, item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not _NO_VALUE}

    def _call(self, stack: Stack, name: str, argument: Any) -> Any:
        functions: Mapping[str, Callable[[Stack, Any], Any]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._get_att,
            "Fn::ImportValue": self._import_value,
            "Fn::Join": self._join,
            "Fn::Sub": self._sub,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::If": self._if,
        }
        function = functions.get(name)
        if function is None:
            raise TemplateError(
                f"the intrinsic function {name} is not understood; known are {sorted(functions)}"
            )
        return function(stack, argument)

    def _ref(self, stack: Stack, name: str) -> Any:
        pseudo = {
            "AWS::Region": self._place.region,
            "AWS::AccountId": self._place.account,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "localhost",
            "AWS::StackName": stack.name,
            "AWS::StackId": self._place.arn("cloudformation", f"stack/{stack.name}/local"),
            "AWS::NoValue": _NO_VALUE,
        }
        if name in pseudo:
            return pseudo[name]
        parameter = stack.template.get("Parameters", {}).get(name)
        if parameter is None:
            return reference(self.identity(stack, name), self._place)
        if "Default" not in parameter:
            raise TemplateError(f"the parameter {name!r} has no default")
        return parameter["Default"]

    def _get_att(self, stack: Stack, argument: Any) -> str:
        logical_id, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return attribute(self.identity(stack, logical_id), name, self._place)

    def _import_value(self, stack: Stack, argument: Any) -> Any:
        name = self._resolve(stack, argument)
        if name not in self._exports:
            raise TemplateError(
                f"Fn::ImportValue of {name!r}: no stack of the app exports it; "
                f"exported are {sorted(self._exports)}"
            )
        exporter, value = self._exports[name]
        return self._resolve(exporter, value)

    def _join(self, stack: Stack, argument: Any) -> str:
        separator, values = argument
        return str(separator).join(str(item) for item in self._resolve(stack, values))

    def _select(self, stack: Stack, argument: Any) -> Any:
        index, values = (self._resolve(stack, item) for item in argument)
        if not 0 <= int(index) < len(values):
            raise TemplateError(f"Fn::Select of {index} in a list of {len(values)}")
        return values[int(index)]

    def _split(self, stack: Stack, argument: Any) -> list[str]:
        separator, text = (self._resolve(stack, item) for item in argument)
        return str(text).split(separator)

    def _sub(self, stack: Stack, argument: Any) -> str:
        text, extra = argument if isinstance(argument, list) else (argument, {})
        variables = self._resolve(stack, extra)

        def replaced(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            if name in variables:
                return str(variables[name])
            return str(self._get_att(stack, name) if "." in name else self._ref(stack, name))

        return _VARIABLE.sub(replaced, text)

    def _if(self, stack: Stack, argument: Any) -> Any:
        condition, then, otherwise = argument
        return self._resolve(stack, then if self._condition(stack, condition) else otherwise)

    def _condition(self, stack: Stack, name: str) -> bool:
        conditions = stack.template.get("Conditions", {})
        if name not in conditions:
            raise TemplateError(f"the condition {name!r} is not defined")
        return self._holds(stack, conditions[name])

    def _holds(self, stack: Stack, test: Mapping[str, Any]) -> bool:
        name, argument = next(iter(test.items()))
        match name:
            case "Condition":
                return self._condition(stack, argument)
            case "Fn::Equals":
                left, right = (self._resolve(stack, item) for item in argument)
                return bool(left == right)
            case "Fn::Not":
                return not self._holds(stack, argument[0])
            case "Fn::And":
                return all(self._holds(stack, item) for item in argument)
            case "Fn::Or":
                return any(self._holds(stack, item) for item in argument)
        raise TemplateError(f"the condition function {name} is not understood")
