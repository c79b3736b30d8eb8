"""The whole application: its stacks, put together for one stage."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, Tags

from stacks.acknowledged import acknowledge
from stacks.consumer_stack import ConsumerStack
from stacks.observability_stack import ObservabilityStack
from stacks.settings import DEFAULT_STAGE, StageSettings, stage_settings
from stacks.stream_stack import StreamStack
from stacks.worker_stack import WorkerStack, runs

UNTAGGED = [
    # Its tags can only be set when it is created (CloudFormation, AWS::Kinesis::StreamConsumer): a
    # changed tag would replace the consumer, its ARN and the mapping on it, which loses its place.
    "AWS::Kinesis::StreamConsumer",
    # CloudFormation hands a stack's own tags down to every resource in it, the consumers too.
    "aws:cdk:stack",
]


def compose(app: App, sources: Path) -> None:
    """Puts the stacks of the context's stage into ``app``; ``sources`` holds ``functions`` and
    ``layers``. Raises ``SettingsError``."""
    settings = stage_settings(
        app.node.try_get_context("stage") or DEFAULT_STAGE, app.node.try_get_context("stages")
    )
    prefix = f"shardlane-{settings.stage}"
    streams = StreamStack(app, f"{prefix}-stream", settings)
    consumers = ConsumerStack(
        app, f"{prefix}-consumers", settings, streams=streams, sources=sources
    )
    ObservabilityStack(app, f"{prefix}-observability", settings, consumers=consumers)
    if runs(settings.worker):
        WorkerStack(app, f"{prefix}-worker", settings, streams=streams, sources=sources)
    _tag(app, settings)
    acknowledge(app)


def _tag(app: App, settings: StageSettings) -> None:
    for key, value in settings.tags.items():
        Tags.of(app).add(key, value, exclude_resource_types=UNTAGGED)
