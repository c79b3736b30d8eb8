"""Tries the parked keys of one consumer again, every so often."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .parking_lot import LotPart


class ScheduledRedrive(Construct):
    """A rule that invokes a redrive function, and what that function may do: invoke the consumer
    function, and empty its part of the lot."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        redrive: lambda_.IFunction,
        consumer: lambda_.IFunction,
        part: LotPart,
        every_min: int,
    ) -> None:
        super().__init__(scope, construct_id)
        part.lot.grant_redrive(redrive)
        # Not grant_invoke: that would allow every version and alias as well.
        iam.Grant.add_to_principal(
            grantee=redrive,
            actions=["lambda:InvokeFunction"],
            resource_arns=[consumer.function_arn],
        )
        # A run that failed is not repeated: the next one comes by itself.
        events.Rule(
            self,
            "Every",
            description=f"Tries the parked keys of {part.consumer} again",
            schedule=events.Schedule.rate(Duration.minutes(every_min)),
            targets=[targets.LambdaFunction(redrive, retry_attempts=0)],
        )
