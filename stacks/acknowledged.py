"""Findings of cdk-nag that are as they should be, each with its reason. A test runs the packs
AwsSolutions and Serverless over every variant of the app, and finds nothing else."""

from __future__ import annotations

from aws_cdk import Acknowledgment, App, Validations

EVERYWHERE = {
    "AwsSolutions::AwsSolutions-L1": (
        "The runtime is the one that the tests run; a newer one is adopted on purpose, with them."
    ),
    "Serverless::Serverless-LambdaLatestVersion": (
        "The runtime is the one that the tests run; a newer one is adopted on purpose, with them."
    ),
    "Serverless::Serverless-LambdaDLQ": (
        "A dead-letter queue is for asynchronous invocations. A mapping invokes synchronously and "
        "has an on-failure destination; a scheduled redrive that failed is followed by the next; "
        "the load function is invoked by hand."
    ),
    "Serverless::Serverless-LambdaTracing": (
        "The functions measure latency: a tracer beside them would be part of what is measured. "
        "Their log lines carry the times of every record."
    ),
    "AwsSolutions::AwsSolutions-SQS3": (
        "The on-failure queue is where a mapping's failures end: it is the dead-letter queue."
    ),
    "Serverless::Serverless-SQSRedrivePolicy": (
        "The on-failure queue is where a mapping's failures end: it is the dead-letter queue."
    ),
    "AwsSolutions::AwsSolutions-S1": (
        "Access logs would need one more bucket without access logs. Who wants to know of reads "
        "has CloudTrail data events, for the whole account."
    ),
    "Serverless::Serverless-EventBusDLQ": (
        "The rule is a clock: what one tick did not start, the next one does."
    ),
    "Serverless::Serverless-SNSRedrivePolicy": (
        "The subscription is a person's address. An alarm that did not arrive is in the alarm's "
        "history."
    ),
    "AwsSolutions::AwsSolutions-DDB3": (
        "Point-in-time recovery is off only where a stage's data is deleted with the stage."
    ),
    "AwsSolutions::AwsSolutions-KDS3": (
        "The key is the customer's own, and how it is used is its owner's choice."
    ),
    # A prefix in one bucket, not everything.
    "AwsSolutions::AwsSolutions-IAM5[Resource::<LotPayloadsE9FFD212.Arn>/shardlane/*]": (
        "Payloads have names that nobody knows before: all objects below one prefix of one bucket."
    ),
    "AwsSolutions::AwsSolutions-IAM5[Resource::<WorkerLotPayloads0FE13801.Arn>/shardlane/*]": (
        "Payloads have names that nobody knows before: all objects below one prefix of one bucket."
    ),
    "AwsSolutions::AwsSolutions-IAM5[Resource::<OnFailureBatches59403C52.Arn>/aws/lambda/*]": (
        "Lambda names the objects: all of them are below this prefix of one bucket."
    ),
}
"""Rule, with the prefix of its pack (without it nothing matches) → reason."""


FROM_ECR = Acknowledgment(
    id="AwsSolutions::AwsSolutions-IAM5[Resource::*]",
    reason="ecr:GetAuthorizationToken, which ECR allows on everything or on nothing.",
)
"""Of the role that pulls a worker's image, and of no other."""


def acknowledge(app: App) -> None:
    rules = [Acknowledgment(id=rule, reason=reason) for rule, reason in EVERYWHERE.items()]
    Validations.of(app).acknowledge(*rules)
