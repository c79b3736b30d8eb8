"""A function with a log group and a role of its own, and no permission that it does not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from .clean_asset import LEFTOVERS
from .layers import RUNTIME

ARCHITECTURES = {
    "arm64": lambda_.Architecture.ARM_64,
    "x86_64": lambda_.Architecture.X86_64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProps:
    name: str
    code: Path
    handler: str
    """``module.function``."""
    memory_mb: int
    timeout_s: int
    layers: Sequence[lambda_.ILayerVersion] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    architecture: str = "arm64"
    """``arm64``, a fifth cheaper a GB-second (AWS Lambda pricing), or ``x86_64``."""
    reserved_concurrency: int | None = None


class ConsumerFunction(Construct):
    """The function, before anything invokes it: ``KeyedConsumer`` connects it to a stream."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        props: FunctionProps,
        *,
        log_retention_days: int,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = self._log_group(props.name, log_retention_days, removal_policy)
        self.role = self._role()
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=props.name,
            runtime=RUNTIME,
            architecture=ARCHITECTURES[props.architecture],
            code=lambda_.Code.from_asset(str(props.code), exclude=LEFTOVERS),
            handler=props.handler,
            memory_size=props.memory_mb,
            timeout=Duration.seconds(props.timeout_s),
            layers=list(props.layers),
            environment=dict(props.environment),
            log_group=self.log_group,
            role=self.role,
            reserved_concurrent_executions=props.reserved_concurrency,
        )
        # The CDK writes the dependency on the role twice, as a reference and as DependsOn.
        cast(lambda_.CfnFunction, self.function.node.default_child).add_metadata(
            "cfn-lint", {"config": {"ignore_checks": ["W3005"]}}
        )

    def _log_group(
        self, function_name: str, retention_days: int, removal_policy: RemovalPolicy
    ) -> logs.LogGroup:
        """Created here and not by Lambda on the first line, which would keep logs for ever."""
        group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{function_name}",
            removal_policy=removal_policy,
        )
        # The L2 property takes an enumeration; the resource takes the number of days.
        cast(logs.CfnLogGroup, group.node.default_child).retention_in_days = retention_days
        return group

    def _role(self) -> iam.Role:
        """May write to its own log group, and nothing else. The managed policy for this,
        AWSLambdaBasicExecutionRole, allows every log group of the account."""
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[self.log_group.log_group_arn],
            )
        )
        return role
