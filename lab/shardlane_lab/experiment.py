"""The experiment file: what is sent, who reads, under which conditions, and what goes wrong.

What each field means is in its description, from which the table in ``docs/experiments.md`` is
made (``experiment_fields``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from shardlane.load import MOST_SENDERS, LoadPlan
from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from shardlane_lab.run_record import Kind

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]

MAPPING_KINDS: tuple[Kind, ...] = ("lambda-standard", "lambda-efo")
FAN_OUT_KINDS: tuple[Kind, ...] = ("lambda-efo", "boto3-efo", "shardlane-efo")
POLLER_KINDS: tuple[Kind, ...] = ("boto3-get-records", "shardlane-polling")
BARE_KINDS: tuple[Kind, ...] = ("boto3-get-records", "boto3-efo")

FaultName = Literal[
    "throttle",
    "internal-error",
    "latency",
    "lost-answer",
    "expired-iterator",
    "duplicate",
    "clock-skew",
    "exception-frame",
    "cut-between-frames",
    "truncated-frame",
    "silence",
]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Step(_Table):
    """Another rate from a moment on."""

    at_s: float = Field(ge=0, le=86_400, description="From when")
    rate_per_s: float = Field(ge=0, le=1000, description="Records a second from then on; 0 is none")

    @model_validator(mode="after")
    def _check(self) -> Step:
        if 0 < self.rate_per_s < 0.01:
            raise ValueError("rate_per_s is 0 or at least 0.01")
        return self


class Burst(_Table):
    """Many records at one moment."""

    at_s: float = Field(ge=0, le=86_400, description="When")
    records: int = Field(ge=1, le=10_000, description="How many, beside the steady ones")


class Poison(_Table):
    """A record that no handler can read."""

    at_s: float = Field(ge=0, le=86_400, description="When it is sent")
    key: int = Field(default=0, ge=0, le=999_999, description="Number of the key it is sent with")


class Load(_Table):
    """What the producer sends."""

    rate_per_s: float = Field(ge=0.01, le=1000, description="Records a second at the start")
    keys: int = Field(default=10, ge=1, le=1_000_000, description="Partition keys")
    distribution: Literal["turns", "uniform", "zipf"] = Field(
        default="turns",
        description="How keys are chosen: one after the other, at random, or the n-th 1/n as often",
    )
    hot_key_share: float = Field(
        default=0.0, ge=0, le=1, description="Of the records, for `key-0` alone"
    )
    record_bytes: int = Field(
        default=0,
        ge=0,
        le=1_048_576,
        description="Of a record's data; never less than its own fields need, about 90",
    )
    handle_ms: float = Field(
        default=0.0,
        ge=0,
        le=60_000,
        description="What handling a record takes: the record says it, and every consumer obeys",
    )
    senders: int = Field(
        default=1,
        ge=1,
        le=MOST_SENDERS,
        description="Puts under way at once; with 1 each waits for the one before, as published",
    )
    steps: tuple[Step, ...] = Field(default=(), strict=False, description="Changes of the rate")
    bursts: tuple[Burst, ...] = Field(default=(), strict=False, description="Records at once")
    poison: tuple[Poison, ...] = Field(
        default=(), strict=False, description="Records that cannot be handled"
    )

    @property
    def is_steady(self) -> bool:
        """Whether records come evenly and none of them fails."""
        return not (self.steps or self.bursts or self.poison)


class Consumer(_Table):
    """One consumer, or ``count`` alike."""

    kind: Kind = Field(description="How it reads, see below")
    count: int = Field(default=1, ge=1, le=50, description="How many alike")
    interval_ms: float = Field(
        default=200,
        ge=0,
        le=60_000,
        description="Pollers only: the pause after each call (the library's: start to start)",
    )
    workers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Handlers at once by key, of a function or of the library's consumer; a "
        "published loop has 1",
    )

    @model_validator(mode="after")
    def _check(self) -> Consumer:
        if "interval_ms" in self.model_fields_set and self.kind not in POLLER_KINDS:
            raise ValueError(f"interval_ms is for {' and '.join(POLLER_KINDS)} only")
        if self.workers > 1 and self.kind in BARE_KINDS:
            raise ValueError(f"workers of {self.kind} is {self.workers}; allowed is 1")
        return self


class Mapping(_Table):
    """Parameters of the functions' mappings; what is left out is as the app deploys it."""

    batch_size: int | None = Field(
        default=None, ge=1, le=10_000, description="Records in a batch, at most"
    )
    window_s: int | None = Field(
        default=None, ge=0, le=300, description="How long a batch may wait to fill"
    )
    parallelization_factor: int | None = Field(
        default=None, ge=1, le=10, description="Concurrent batches of a shard, by partition key"
    )
    retry_attempts: int | None = Field(
        default=None, ge=-1, le=10_000, description="Of a batch that fails; -1 is for ever"
    )
    bisect: bool | None = Field(default=None, description="Whether a failing batch is halved")
    max_record_age_s: int | None = Field(
        default=None, ge=60, le=604_800, description="After which a failing batch is given up"
    )


class FaultWindow(_Table):
    """A fault of the local service; not for runs on AWS."""

    kind: FaultName = Field(description="What goes wrong, as in a fault file of the local Kinesis")
    operation: str | None = Field(default=None, description="Of which operation; else of any")
    from_s: float = Field(default=0, ge=0, le=86_400, description="From when")
    until_s: float | None = Field(
        default=None, gt=0, le=172_800, description="Until when; else to the end"
    )
    probability: float = Field(default=1.0, ge=0, le=1, description="At each call or event")
    burst: int = Field(default=1, ge=1, le=10_000, description="How often in a row once it begins")
    ms: float = Field(
        default=0, ge=-3_600_000, le=3_600_000, description="Of a latency or a clock skew"
    )
    records: int = Field(default=1, ge=1, le=10_000, description="Of a duplicate delivery")

    @model_validator(mode="after")
    def _check(self) -> FaultWindow:
        if self.until_s is not None and self.until_s <= self.from_s:
            raise ValueError(f"until_s is {self.until_s:g}; allowed is more than from_s")
        if self.kind == "latency" and self.ms <= 0:
            raise ValueError(f"ms of a latency is {self.ms:g}; allowed is more than 0")
        self.rule()
        return self

    def rule(self) -> Fault:
        """As a fault plan of the local Kinesis has it. Raises ``ValueError`` for an operation at
        which such a fault cannot happen."""
        return Fault(
            kind=FaultKind(self.kind),
            operation=self.operation,
            probability=self.probability,
            burst=self.burst,
            ms=self.ms,
            records=self.records,
        )


class Outage(_Table):
    """Nobody can read the stream for a while; writing goes on."""

    at_s: float = Field(ge=0, le=86_400, description="When it begins")
    seconds: float = Field(gt=0, le=86_400, description="How long it lasts")


class Reshard(_Table):
    """A change of the number of shards (UpdateShardCount)."""

    at_s: float = Field(ge=0, le=86_400, description="When")
    shards: int = Field(ge=1, le=100, description="How many then; from half to twice as many")


class Service(_Table):
    """How the local Kinesis behaves."""

    delays: Literal["none", "measured"] = Field(
        default="measured", description="At once, or as late as the service was when measured"
    )
    seed: int = Field(default=1, ge=0, description="Of delays, faults, keys and retries")


class Experiment(_Table):
    """A checked experiment. Times in seconds and milliseconds, as the fields say."""

    name: Name = Field(description="As the file: lower-case letters, digits and hyphens")
    title: str = Field(min_length=1, description="For the report")
    seconds: float = Field(gt=0, le=86_400, description="How long is sent")
    shards: int = Field(default=1, ge=1, le=100, description="Of the stream at the start")
    published_round: Literal["1", "2"] | None = Field(
        default=None, description="The published round that the report sets beside it"
    )
    load: Load = Field(description="What is sent")
    consumers: tuple[Consumer, ...] = Field(min_length=1, strict=False, description="Who reads")
    mapping: Mapping = Field(default=Mapping(), description="Of the functions")
    faults: tuple[FaultWindow, ...] = Field(
        default=(), strict=False, description="What goes wrong in the service"
    )
    outages: tuple[Outage, ...] = Field(
        default=(), strict=False, description="When nobody can read"
    )
    reshards: tuple[Reshard, ...] = Field(
        default=(), strict=False, description="When the number of shards changes"
    )
    service: Service = Field(default=Service(), description="How the local service behaves")

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        kinds = [consumer.kind for consumer in self.consumers]
        twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
        if twice is not None:
            raise ValueError(
                f"consumers: {twice!r} stands there {kinds.count(twice)} times; "
                "write it once, with a count"
            )
        self._check_moments()
        self._check_reshards()
        return self

    def _check_moments(self) -> None:
        """What is to happen in a run has to fall into it."""
        moments = {
            "load.steps": [each.at_s for each in self.load.steps],
            "load.bursts": [each.at_s for each in self.load.bursts],
            "load.poison": [each.at_s for each in self.load.poison],
            "outages": [each.at_s for each in self.outages],
            "reshards": [each.at_s for each in self.reshards],
        }
        for field, times in moments.items():
            late = [at_s for at_s in times if at_s >= self.seconds]
            if late:
                raise ValueError(
                    f"{field}: at_s is {late[0]:g}; allowed is less than seconds, {self.seconds:g}"
                )

    def _check_reshards(self) -> None:
        shards = self.shards
        for each in sorted(self.reshards, key=lambda each: each.at_s):
            if not shards / 2 <= each.shards <= shards * 2:
                raise ValueError(
                    f"reshards: shards is {each.shards}; allowed from {shards} shards is "
                    f"{-(-shards // 2)} to {shards * 2} (UpdateShardCount)"
                )
            shards = each.shards

    def labels(self) -> list[tuple[str, Consumer]]:
        """Every consumer with its label: the kind, numbered from 1 where there are several."""
        return [
            (consumer.kind if consumer.count == 1 else f"{consumer.kind}-{number}", consumer)
            for consumer in self.consumers
            for number in range(1, consumer.count + 1)
        ]

    def plan(self) -> LoadPlan:
        """The load as whoever sends it needs it."""
        load = self.load
        return LoadPlan(
            seconds=self.seconds,
            rate_per_s=load.rate_per_s,
            steps=tuple((each.at_s, each.rate_per_s) for each in load.steps),
            bursts=tuple((each.at_s, each.records) for each in load.bursts),
            poison=tuple((each.at_s, each.key) for each in load.poison),
            keys=load.keys,
            distribution=load.distribution,
            hot_key_share=load.hot_key_share,
            record_bytes=load.record_bytes,
            handle_ms=load.handle_ms,
            senders=load.senders,
            seed=self.service.seed,
        )

    def shortened(self, seconds: float) -> Experiment:
        """The same course in another time: every moment moves along, rates and durations of
        single records stay. Raises nothing that the experiment itself would not."""
        share = seconds / self.seconds
        values = self.model_dump()
        values["seconds"] = seconds
        for table in (*values["load"]["steps"], *values["load"]["bursts"]):
            table["at_s"] *= share
        for table in (*values["load"]["poison"], *values["reshards"]):
            table["at_s"] *= share
        for table in values["outages"]:
            table["at_s"], table["seconds"] = table["at_s"] * share, table["seconds"] * share
        for table in values["faults"]:
            table["from_s"] *= share
            if table["until_s"] is not None:
                table["until_s"] *= share
        for table in values["consumers"]:
            if table["kind"] not in POLLER_KINDS:
                del table["interval_ms"]
        return Experiment.model_validate(values)
