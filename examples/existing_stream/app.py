"""Attaches a function of one's own to a stream that is there: `cdk deploy -a "python app.py"`."""

from pathlib import Path

from aws_cdk import App, Duration, Stack
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from shardlane_cdk import KeyedConsumer

STREAM = "arn:aws:kinesis:eu-west-1:111122223333:stream/order-events"


def build(app: App) -> Stack:
    stack = Stack(app, "billing")
    function = lambda_.Function(
        stack,
        "Function",
        runtime=lambda_.Runtime.PYTHON_3_13,
        code=lambda_.Code.from_asset(str(Path(__file__).parent / "function")),
        handler="billing.lambda_handler",
        timeout=Duration.seconds(30),
    )
    stream = kinesis.Stream.from_stream_arn(stack, "Stream", STREAM)
    KeyedConsumer(stack, "Billing", function=function, source=stream, consumer="billing")
    return stack


if __name__ == "__main__":
    build(app := App())
    app.synth()
