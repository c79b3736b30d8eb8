"""What may differ between stages, read from ``cdk.json`` (context ``stages.<stage>``) and checked
before anything is built. ``-c stage=prod`` chooses the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from stacks.setting_rules import (
    Flag,
    OneOf,
    SettingsError,
    Tags,
    Text,
    WholeNumber,
    override,
)

DEFAULT_STAGE = "dev"
LONGEST_REDRIVEN_S = 870
"""A function runs 900 s at most, and the redrive function has to outlast the one it invokes."""

Stage = Text(r"[a-z][a-z0-9]{0,15}", "1 to 16 lower-case letters and digits, a letter first")
StreamName = Text(r"[a-zA-Z0-9_.-]{1,128}", "1 to 128 of the characters a-z A-Z 0-9 _ . -")
StreamArn = Text(
    r"arn:aws[a-z-]*:kinesis:[a-z0-9-]+:\d{12}:stream/[a-zA-Z0-9_.-]{1,128}",
    "a stream's ARN, arn:aws:kinesis:REGION:ACCOUNT:stream/NAME",
)
FunctionName = Text(r"[a-zA-Z0-9_-]{1,64}", "1 to 64 of the characters a-z A-Z 0-9 _ -")
ServiceName = Text(
    r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}",
    "1 to 64 of the characters a-z A-Z 0-9 . _ -, a letter or digit first",
)
MetricNamespace = Text(
    r"(?!AWS/)[a-zA-Z0-9_.#/-]{1,255}",
    "1 to 255 of the characters a-z A-Z 0-9 _ . # / -, not starting with AWS/",
)
KeyArn = Text(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/(mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    "a key's ARN, arn:aws:kms:REGION:ACCOUNT:key/ID",
)
Address = Text(r"[^\s@]{1,64}@[^\s@]{1,255}", "an e-mail address")
ImageName = Text(r"built|[a-z0-9][a-zA-Z0-9._/:@-]{1,255}", 'an image\'s name with tag, or "built"')
HandlerName = Text(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "MODULE:FUNCTION")
LogRetention = OneOf(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSettings:
    """An event source mapping on Kinesis. Ranges: Lambda API, CreateEventSourceMapping.

    What is left out of ``retry_attempts`` and ``max_record_age_s`` goes with the stage's policy.
    """

    batch_size: Annotated[int, WholeNumber(1, 10_000)] = 100
    """Records in a batch, at most."""
    batching_window_s: Annotated[int, WholeNumber(0, 300)] = 0
    """How long a batch may wait to fill; every record may be late by as much."""
    parallelization_factor: Annotated[int, WholeNumber(1, 10)] = 1
    """Concurrent batches of one shard; the service keeps a partition key in one of them."""
    starting_position: Annotated[str, OneOf("LATEST", "TRIM_HORIZON")] = "LATEST"
    """Of a new mapping. It cannot be changed: another value replaces the mapping, which then
    forgets its place."""
    retry_attempts: Annotated[int | None, WholeNumber(0, 10_000)] = None
    max_record_age_s: Annotated[int | None, WholeNumber(60, 604_800)] = None
    """A failing batch is given up when its records are older. Not with the policy ``park``."""
    bisect_on_error: Annotated[bool, Flag()] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """One function and its mapping. Ranges: Lambda quotas."""

    function_name: Annotated[str, FunctionName]
    memory_mb: Annotated[int, WholeNumber(128, 10_240)] = 128
    timeout_s: Annotated[int, WholeNumber(1, 900)] = 30
    """Of one invocation. Much more than a batch needs: it bounds how long a hanging call can hold
    up a shard."""
    workers: Annotated[int, WholeNumber(1, 64)] = 4
    """Threads that handle keys of one batch."""
    reserved_concurrency: Annotated[int | None, WholeNumber(1, 1_000)] = None
    """Of the account's concurrency, for this function alone and at most. It needs one for each
    shard and parallel batch, and one for a redrive."""
    log_keys: Annotated[bool, Flag()] = False
    """Whether partition keys may be in logs; they may name people."""
    log_level: Annotated[str, OneOf("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")] = "INFO"
    mapping: MappingSettings = field(default_factory=MappingSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The long-running consumer in containers; there is none without an image."""

    image: Annotated[str | None, ImageName] = None
    """``built`` builds ``deploy/Dockerfile`` at deployment, which takes Docker."""
    name: Annotated[str, FunctionName] = "order-worker"
    """Names it in its parking lot and in metrics."""
    handler: Annotated[str, HandlerName] = "orders:handle"
    source: Annotated[str, OneOf("polling", "efo")] = "polling"
    """``efo`` takes the registered consumer ``boto3_efo_consumer_name``."""
    start: Annotated[str, OneOf("latest", "horizon")] = "latest"
    """Of shards that have no lease yet."""
    tasks: Annotated[int, WholeNumber(1, 100)] = 2
    workers: Annotated[int, WholeNumber(1, 256)] = 8
    """Handlers at once in a task, one a partition key."""
    cpu_units: Annotated[int, OneOf(256, 512, 1_024, 2_048, 4_096)] = 256
    memory_mb: Annotated[int, WholeNumber(512, 30_720)] = 512
    stop_timeout_s: Annotated[int, WholeNumber(30, 120)] = 60
    """From SIGTERM to SIGKILL (Fargate: 120 s at most); all but 15 s of it is for draining."""


def _standard() -> ConsumerSettings:
    return ConsumerSettings(function_name="order-latency-standard")


def _efo() -> ConsumerSettings:
    return ConsumerSettings(function_name="order-latency-efo")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSettings:
    """Everything that the stacks are built from."""

    stage: str = DEFAULT_STAGE
    """In the stacks' names; the key in ``stages``, so not a setting itself."""
    removal: Annotated[str, OneOf("destroy", "retain")] = "retain"
    """What becomes of the stream, the parking lot, the queue and the logs when their stack is
    deleted."""
    policy: Annotated[str, OneOf("park", "stop", "drop")] = "park"
    """What becomes of a record that keeps failing. ``park`` costs one read of the lot at the start
    of every invocation."""
    architecture: Annotated[str, OneOf("arm64", "x86_64")] = "arm64"
    key_arn: Annotated[str | None, KeyArn] = None
    """A key of one's own that encrypts stream, lot, queue and buckets instead of AWS's keys."""
    stream_name: Annotated[str, StreamName] = "order-events"
    shard_count: Annotated[int, WholeNumber(1, 10_000)] = 1
    stream_retention_hours: Annotated[int, WholeNumber(24, 8_760)] = 24
    stream_arn: Annotated[str | None, StreamArn] = None
    """An existing stream to read instead of a new one; then the three above cannot be set."""
    lambda_efo_consumer_name: Annotated[str, StreamName] = "order-events-lambda-efo"
    boto3_efo_consumer_name: Annotated[str, StreamName] = "order-events-boto3-efo"
    standard: ConsumerSettings = field(default_factory=_standard)
    efo: ConsumerSettings = field(default_factory=_efo)
    service_name: Annotated[str, ServiceName] = "order-latency"
    """The dimension ``service`` of the functions' own metrics."""
    metrics_namespace: Annotated[str, MetricNamespace] = "Shardlane"
    log_retention_days: Annotated[int, LogRetention] = 7
    on_failure_retention_days: Annotated[int, WholeNumber(1, 14)] = 14
    """How long the on-failure queue keeps what was given up (Amazon SQS, MessageRetentionPeriod:
    14 days at most)."""
    on_failure: Annotated[str, OneOf("queue", "bucket")] = "queue"
    """Where a batch goes that was given up: what it was, or the whole event."""
    on_failure_bucket_days: Annotated[int, WholeNumber(1, 3_650)] = 90
    payload_bucket: Annotated[bool, Flag()] = False
    """Whether the lot can hold payloads above 350,000 bytes."""
    redrive_every_min: Annotated[int | None, WholeNumber(1, 1_440)] = None
    """How often parked keys are tried again; left out, `shardlane redrive` does it by hand."""
    alarm_email: Annotated[str | None, Address] = None
    """Who is told of the alarms."""
    parked_after_s: Annotated[int, WholeNumber(1, 604_800)] = 3_600
    """How long a key may be parked before its alarm goes off."""
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    load: Annotated[bool, Flag()] = False
    """Whether there is a function that sends load from inside the region."""
    late_after_s: Annotated[int, WholeNumber(1, 604_800)] = 60
    """Iterator age above which a consumer counts as late and its alarm goes off."""
    tags: Annotated[Mapping[str, str], Tags()] = field(default_factory=dict)
    """On every resource but the stream consumers, which a changed tag would replace."""

    @property
    def read_stream_name(self) -> str:
        """The name of the stream that is read, a new one or an existing one."""
        return self.stream_arn.rpartition("/")[2] if self.stream_arn else self.stream_name


def stage_settings(stage: object, stages: object) -> StageSettings:
    """The settings of ``stage``; ``stages`` is the context of that name.

    Raises ``SettingsError`` for a stage that is not in ``stages``, a key that is no setting, a
    value that is not allowed, or settings that contradict each other.
    """
    if not isinstance(stages, Mapping):
        raise SettingsError(f'context "stages" is {stages!r}; allowed: an object of stages')
    if not isinstance(stage, str) or stage not in stages:
        raise SettingsError(f"stage is {stage!r}; allowed: {', '.join(sorted(stages))}")
    if not Stage.accepts(stage):
        raise SettingsError(f"stage is {stage!r}; allowed: {Stage.allowed}")
    settings = override(StageSettings(stage=stage), stages[stage], f"stages.{stage}")
    _check_stream(stages[stage], f"stages.{stage}")
    _check_names(settings, f"stages.{stage}")
    _check_redrive(settings, f"stages.{stage}")
    return settings


def _check_redrive(settings: StageSettings, path: str) -> None:
    if settings.redrive_every_min is None:
        return
    if settings.policy != "park":
        raise SettingsError(
            f"{path}.redrive_every_min is {settings.redrive_every_min}, but {path}.policy is "
            f"{settings.policy!r}, which parks nothing; allowed: with the policy 'park'"
        )
    for name in ("standard", "efo"):
        timeout_s = getattr(settings, name).timeout_s
        if timeout_s > LONGEST_REDRIVEN_S:
            raise SettingsError(
                f"{path}.{name}.timeout_s is {timeout_s} with {path}.redrive_every_min set; "
                f"allowed: up to {LONGEST_REDRIVEN_S}, because the redrive function waits for it"
            )


def _check_stream(values: Mapping[str, object], path: str) -> None:
    if "stream_arn" not in values:
        return
    for key in ("stream_name", "shard_count", "stream_retention_hours"):
        if key in values:
            raise SettingsError(
                f"{path}.{key} is {values[key]!r}, but {path}.stream_arn attaches an existing "
                "stream, which is left as it is; allowed: one of the two"
            )


def _check_names(settings: StageSettings, path: str) -> None:
    pairs = {
        "efo.function_name": (settings.efo.function_name, settings.standard.function_name),
        "boto3_efo_consumer_name": (
            settings.boto3_efo_consumer_name,
            settings.lambda_efo_consumer_name,
        ),
    }
    for key, (name, other) in pairs.items():
        if name == other:
            raise SettingsError(
                f"{path}.{key} is {name!r}, as is its counterpart; allowed: a name of its own"
            )
