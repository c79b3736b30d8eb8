"""The dashboards and alarms that ``cdk deploy`` would make, read from the synthesized app."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardlane_lab.dashboard.alarm import Alarm, parse_alarm
from shardlane_lab.dashboard.widget import Widget, parse_widgets
from shardlane_lab.errors import LabError
from shardlane_lab.local_lambda.cloud_assembly import Stack, read_stacks
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION
from shardlane_lab.local_lambda.intrinsics import Resolver
from shardlane_lab.local_lambda.physical_name import Place


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    widgets: tuple[Widget, ...]


@dataclass(frozen=True, slots=True)
class Deployed:
    dashboards: tuple[Dashboard, ...]
    alarms: Mapping[str, Alarm]
    """By ARN."""

    def dashboard(self, name: str | None = None) -> Dashboard:
        """The one of that name, or the only one. Raises ``LabError`` naming those there are."""
        names = [each.name for each in self.dashboards]
        if not names:
            raise LabError("the app deploys no CloudWatch dashboard")
        if name is None and len(names) == 1:
            return self.dashboards[0]
        for each in self.dashboards:
            if each.name == name:
                return each
        asked = "which dashboard?" if name is None else f"no dashboard {name!r}:"
        raise LabError(f"{asked} the app deploys {', '.join(names)} (--name)")


def read_deployed(assembly: Path) -> Deployed:
    """Names and ARNs are those of this machine, as the local stack has them. Raises
    ``TemplateError`` for what cannot be understood."""
    stacks = read_stacks(assembly)
    resolver = Resolver(stacks, Place(LOCAL_REGION, LOCAL_ACCOUNT))
    return Deployed(
        dashboards=tuple(
            _dashboard(resolver, stack, logical_id)
            for stack, logical_id in _of(stacks, resolver, "AWS::CloudWatch::Dashboard")
        ),
        alarms={
            alarm.arn: alarm
            for kind in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
            for stack, logical_id in _of(stacks, resolver, kind)
            for alarm in [_alarm(resolver, stack, logical_id)]
        },
    )


def _of(stacks: tuple[Stack, ...], resolver: Resolver, kind: str) -> Iterator[tuple[Stack, str]]:
    for stack in stacks:
        for logical_id, resource in stack.resources.items():
            if resource["Type"] == kind and resolver.exists(stack, logical_id):
                yield stack, logical_id


def _dashboard(resolver: Resolver, stack: Stack, logical_id: str) -> Dashboard:
    properties = resolver.properties(stack, logical_id)
    try:
        widgets = parse_widgets(properties["DashboardBody"])
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(f"{stack.name}/{logical_id}: {error}") from error
    return Dashboard(properties.get("DashboardName", logical_id), widgets)


def _alarm(resolver: Resolver, stack: Stack, logical_id: str) -> Alarm:
    identity = resolver.identity(stack, logical_id)
    arn: Any = resolver.resolve(stack, {"Fn::GetAtt": [logical_id, "Arn"]})
    # Actions are topics and functions, which need not be understood to draw the alarm.
    wanted = {
        name: value
        for name, value in stack.resources[logical_id]["Properties"].items()
        if not name.endswith("Actions")
    }
    return parse_alarm(str(arn), identity.name, resolver.resolve(stack, wanted))
