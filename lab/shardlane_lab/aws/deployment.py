"""The deployed stacks of one stage, found by the outputs that the CDK app gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from shardlane_lab.aws.errors import AwsError, explained
from shardlane_lab.run_record import Kind

STACKS = ("stream", "consumers")
"""Each is called ``shardlane-STAGE-NAME``."""
_USABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedFunction:
    """A function behind its mapping."""

    name: str
    log_group: str
    mapping_id: str
    consumer: str | None
    """The registered stream consumer it reads with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    stage: str
    stream: str
    stream_arn: str
    functions: Mapping[Kind, DeployedFunction]
    boto3_consumer: str
    """The registered stream consumer that no mapping uses."""
    load_function: str | None
    """None if the stage does not deploy it."""


def find_deployment(cloudformation: Any, stage: str) -> Deployment:
    """Raises ``AwsError`` naming the stack or the output that is not there."""
    outputs: dict[str, str] = {}
    for name in STACKS:
        outputs |= _outputs(cloudformation, f"shardlane-{stage}-{name}", stage)
    return deployment_from(outputs, stage)


def _outputs(cloudformation: Any, stack_name: str, stage: str) -> dict[str, str]:
    try:
        with explained(f"the stack {stack_name}"):
            stacks = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    except AwsError as error:
        cause = error.__cause__
        if isinstance(cause, ClientError) and "does not exist" in str(cause):
            raise AwsError(
                f"there is no stack {stack_name} in this account and region; deploy it "
                f"(npx aws-cdk@2 deploy --all -c stage={stage}) or name another --stage"
            ) from error
        raise
    stack = stacks[0]
    if stack["StackStatus"] not in _USABLE:
        raise AwsError(
            f"the stack {stack_name} is {stack['StackStatus']}; a run needs one of "
            f"{', '.join(_USABLE)}"
        )
    return {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}


def deployment_from(outputs: Mapping[str, str], stage: str) -> Deployment:
    """From the outputs of all stacks. Raises ``AwsError`` naming those that are missing."""
    needed = (
        *("StreamName", "StreamArn", "LambdaEfoConsumerName", "Boto3EfoConsumerName"),
        *(f"{name}{what}" for name in ("Standard", "Efo") for what in _OF_FUNCTION),
    )
    _check_there(outputs, needed, stage)
    return Deployment(
        stage=stage,
        stream=outputs["StreamName"],
        stream_arn=outputs["StreamArn"],
        functions={
            "lambda-standard": _function(outputs, "Standard", None),
            "lambda-efo": _function(outputs, "Efo", outputs["LambdaEfoConsumerName"]),
        },
        boto3_consumer=outputs["Boto3EfoConsumerName"],
        load_function=outputs.get("LoadFunctionName"),
    )


_OF_FUNCTION = ("FunctionName", "LogGroupName", "MappingId")


def _check_there(outputs: Mapping[str, str], needed: Iterable[str], stage: str) -> None:
    missing = [name for name in needed if name not in outputs]
    if missing:
        raise AwsError(
            f"the stacks of stage {stage!r} have no output {', '.join(missing)}: they were "
            "deployed from another version; deploy them again"
        )


def _function(outputs: Mapping[str, str], name: str, consumer: str | None) -> DeployedFunction:
    return DeployedFunction(
        name=outputs[f"{name}FunctionName"],
        log_group=outputs[f"{name}LogGroupName"],
        mapping_id=outputs[f"{name}MappingId"],
        consumer=consumer,
    )
