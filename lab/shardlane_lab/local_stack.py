"""The whole local stack of a synthesized app: what ``shardlane-lab up`` runs.

::

    Template ─┬─ local AWS (moto)          queues, topics, buckets, tables, logs, metrics
              ├─ local Kinesis (HTTP)      streams and consumers
              └─ functions in sandboxes ── event source mappings on the streams
                        └───────────────── Lambda API (HTTP)
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from shardlane_lab.errors import LabError
from shardlane_lab.local_aws.cloudwatch_feed import CloudWatchFeed, LogPlace
from shardlane_lab.local_aws.destinations import destination
from shardlane_lab.local_aws.embedded_metrics import embedded_data
from shardlane_lab.local_aws.lambda_api import LambdaApi
from shardlane_lab.local_aws.queue_metrics import QueueMetrics
from shardlane_lab.local_aws.resources import create_resources
from shardlane_lab.local_aws.services import LocalAws
from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.function import LocalFunction, OnLog
from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.mapping import EventSourceMapping, MappingPorts
from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.local_lambda.physical_name import CONSUMER_CREATED_S
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.ports import Destination
from shardlane_lab.local_lambda.stream_setup import create_stream, register_consumer
from shardlane_lab.local_lambda.template_values import MappingSpec, Template
from shardlane_lab.local_lambda.worker import system_wall_ms
from shardlane_lab.metric import Datum, Observer
from shardlane_lab.task_end import end_task

READING_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOptions:
    """How the services behave and where they listen."""

    kinesis_port: int = 0
    """On 127.0.0.1; 0 is any free one."""
    aws_port: int = 0
    delays: Delays = field(default_factory=Delays.none)
    limits: Limits = field(default_factory=Limits)
    timing: PollTiming = field(default_factory=PollTiming.exact)
    seed: int = 0
    watch: bool = False
    """Whether a function whose files were edited is loaded anew."""


class LocalStack:
    """An async context manager: inside it everything runs and every mapping reads. Nothing of it
    outlives it, and nothing of it reaches AWS."""

    def __init__(
        self,
        template: Template,
        options: StackOptions | None = None,
        *,
        on_log: OnLog | None = None,
        observer: Observer | None = None,
    ) -> None:
        """``on_log`` and ``observer`` are told beside CloudWatch; they must not block."""
        self._template = template
        self._options = options or StackOptions()
        self._on_log = on_log
        self._observer = observer
        self._aws = LocalAws(template.region)
        self._model = Kinesis(
            region=template.region,
            account=template.account,
            delays=self._options.delays,
            limits=self._options.limits,
            seed=self._options.seed,
            observer=self._observe,
        )
        self._places: dict[str, LogPlace] = {}
        self._feed: CloudWatchFeed | None = None
        self._arns: dict[str, str] = {}
        self._mappings: list[EventSourceMapping] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()
        self.functions: dict[str, LocalFunction] = {}
        """By name."""
        self._lambda = LambdaApi(self.functions)
        self.kinesis_endpoint = ""
        self.arns: Mapping[str, str] = self._arns
        """Of streams and stream consumers, by name."""

    async def __aenter__(self) -> LocalStack:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def variables(self) -> dict[str, str]:
        """For the environment of the AWS CLI, boto3 and other SDKs."""
        return {
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": self._template.region,
            "AWS_DEFAULT_REGION": self._template.region,
            **self._endpoints(),
        }

    def aws_client(self, service: str) -> Any:
        """A client of one of the services from moto; it blocks."""
        return self._aws.client(service)

    async def publish(self) -> None:
        """Sends to CloudWatch what has gathered, without waiting for the next second."""
        if self._feed is not None:
            await self._feed.publish()

    async def wait(self) -> None:
        """Until a part fails, and raises what it failed of."""
        await asyncio.gather(*self._tasks)

    # --- starting, in this order --------------------------------------------------------------

    async def _start(self) -> None:
        await self._start_aws()
        await self._start_kinesis()
        self._stack.push_async_callback(self._lambda.stop)
        await self._lambda.start()
        for config in self._template.functions:
            self._add_function(self._with_arns(config))
        await asyncio.gather(*(each.start() for each in self.functions.values()))
        for number, spec in enumerate(self._template.mappings):
            await self._start_mapping(spec, self._options.seed + number)
        await self._until_reading()

    async def _start_aws(self) -> None:
        self._stack.push_async_callback(self._aws.stop)
        await self._aws.start(self._options.aws_port)
        await asyncio.to_thread(create_resources, self._template.others, self._aws.client)
        self._feed = CloudWatchFeed(self._aws.client, self._places, system_wall_ms)
        self._run(self._feed.run())
        queues = [each.name for each in self._template.others if each.type == "AWS::SQS::Queue"]
        if queues:
            watch = QueueMetrics(queues, self._aws.client, self._observe, system_wall_ms)
            self._run(watch.run())

    async def _start_kinesis(self) -> None:
        server = KinesisServer(self._model, system_wall_ms)
        port = await server.start(self._options.kinesis_port)
        self._stack.push_async_callback(server.stop)
        self.kinesis_endpoint = f"http://127.0.0.1:{port}"
        client = InProcessKinesis(self._model, system_wall_ms)
        for stream in self._template.streams:
            self._arns[stream.name] = await create_stream(client, stream)
        for consumer in self._template.consumers:
            stream_arn = self._arns[consumer.stream]
            self._arns[consumer.name] = await register_consumer(client, stream_arn, consumer.name)

    def _add_function(self, config: FunctionConfig) -> None:
        function = LocalFunction(
            config,
            on_log=self._log,
            observer=self._observe,
            endpoints=self._endpoints(),
            watch=self._options.watch,
        )
        self._places[config.name] = (config.log_group_name, function.log_stream)
        self._stack.push_async_callback(function.stop)
        self.functions[config.name] = function

    async def _start_mapping(self, spec: MappingSpec, seed: int) -> None:
        function = self.functions[spec.function]
        identity = MappingIdentity(
            uuid=spec.uuid,
            function_name=function.config.name,
            function_arn=function.config.arn,
            invoke_identity_arn=function.config.identity_arn,
            stream_name=spec.stream,
            stream_arn=self._arns[spec.stream],
            consumer_arn=self._arns[spec.consumer] if spec.consumer else None,
        )
        self._lambda.add(spec, identity)
        if not spec.enabled:
            return
        ports = MappingPorts(
            kinesis=InProcessKinesis(self._model, system_wall_ms, self._caller(spec)),
            invoke=self._lambda.watched(spec.uuid, function.invoke),
            wall_ms=system_wall_ms,
            observer=self._observe,
            destination=await self._destination(spec),
            rng=random.Random(seed),
        )
        mapping = EventSourceMapping(spec.config, identity, ports, self._options.timing)
        self._mappings.append(mapping)
        self._run(mapping.run())

    def _caller(self, spec: MappingSpec) -> Caller:
        """One standard mapping on a stream is never refused, as in the published measurement;
        nothing says so of several, so they share the shards' reads as everybody does."""
        standard = [
            each
            for each in self._template.mappings
            if each.enabled and each.consumer is None and each.stream == spec.stream
        ]
        shares = spec.consumer is None and len(standard) > 1
        return Caller.API if shares else Caller.EVENT_SOURCE_MAPPING

    async def _destination(self, spec: MappingSpec) -> Destination | None:
        if spec.on_failure is None:
            return None
        return await asyncio.to_thread(destination, spec.on_failure, spec.uuid, self._aws.client)

    async def _until_reading(self) -> None:
        reading = asyncio.create_task(self._all_reading())
        try:
            done, _ = await asyncio.wait(
                (reading, *self._tasks),
                timeout=READING_WITHIN_S,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            reading.cancel()
        for task in done - {reading}:
            await task  # a part that ends by itself has failed: this raises why
        if reading not in done:
            raise LabError(f"the mappings did not read within {READING_WITHIN_S:.0f} s")

    async def _all_reading(self) -> None:
        for mapping in self._mappings:
            await mapping.ready.wait()

    # --- what the parts share -----------------------------------------------------------------

    def _run(self, part: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(part)
        self._tasks.append(task)
        self._stack.push_async_callback(end_task, task)

    def _endpoints(self) -> dict[str, str]:
        return {
            **self._aws.variables(),
            "AWS_ENDPOINT_URL_KINESIS": self.kinesis_endpoint,
            **self._lambda.variables(),
        }

    def _with_arns(self, config: FunctionConfig) -> FunctionConfig:
        """With the ARNs that stream consumers got when they were registered: they carry the time
        of that, which no template knows."""
        environment = dict(config.environment)
        for consumer in self._template.consumers:
            stream_arn = self._arns[consumer.stream]
            unknown = f"{stream_arn}/consumer/{consumer.name}:{CONSUMER_CREATED_S}"
            for name, value in environment.items():
                environment[name] = value.replace(unknown, self._arns[consumer.name])
        return replace(config, environment=environment)

    def _log(self, function_name: str, line: str) -> None:
        if self._feed is not None:
            self._feed.log(function_name, line)
        if self._on_log is not None:
            self._on_log(function_name, line)
        if self._observer is not None:
            for datum in embedded_data(line):
                self._observer(datum)

    def _observe(self, datum: Datum) -> None:
        if self._feed is not None:
            self._feed.observe(datum)
        if self._observer is not None:
            self._observer(datum)
