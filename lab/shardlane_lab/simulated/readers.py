"""Everybody who reads in a run in virtual time, as the experiment names them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from shardlane_lab.collector import Collector
from shardlane_lab.consumer_names import Names, virtual_mapping_uuid
from shardlane_lab.experiment import FAN_OUT_KINDS, MAPPING_KINDS, Consumer, Experiment
from shardlane_lab.experiment_mapping import (
    SHIPPED,
    SHIPPED_TIMEOUT_S,
    SHIPPED_WORKERS,
    with_parameters,
)
from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.in_process_function import InProcessFunction
from shardlane_lab.local_lambda.mapping import EventSourceMapping, MappingPorts
from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.stream_setup import register_consumer
from shardlane_lab.metric import Observer
from shardlane_lab.run_record import ConsumerRecord
from shardlane_lab.simulated.bare_poller import BarePoller
from shardlane_lab.simulated.bare_subscriber import BareSubscriber
from shardlane_lab.simulated.function import OrderLatency
from shardlane_lab.simulated.library import LibraryConsumer
from shardlane_lab.simulated.sdk import SdkClient
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.virtual_time import wall_ms

Running = Coroutine[Any, Any, None]


class Readers:
    def __init__(
        self,
        experiment: Experiment,
        model: Kinesis,
        stream_arn: str,
        collector: Collector,
        calibration: Parameters,
        observer: Observer,
    ) -> None:
        self._experiment = experiment
        self._model = model
        self._stream_arn = stream_arn
        self._collector = collector
        self._calibration = calibration
        self._observer = observer
        self._client = InProcessKinesis(model, wall_ms)
        self._names = Names(stream=stream_arn.rpartition("/")[2])
        self.library: list[LibraryConsumer] = []
        self.failed_batches = 0
        """Messages that would have gone to an on-failure destination."""

    async def start(self) -> list[Running]:
        """What has to run from now on; nothing that is sent later is missed."""
        return [
            await self._reader(self._names.of(label, consumer.kind), consumer)
            for label, consumer in self._experiment.labels()
        ]

    async def _reader(self, named: ConsumerRecord, consumer: Consumer) -> Running:
        arn = None
        if consumer.kind in FAN_OUT_KINDS:
            assert named.efo_consumer is not None
            arn = await register_consumer(self._client, self._stream_arn, named.efo_consumer)
        if consumer.kind in MAPPING_KINDS:
            return self._mapping(named, consumer, arn).run()
        if consumer.kind.startswith("shardlane-"):
            return self._library(named, consumer).run()
        if arn is not None:
            stream = self._names.stream
            return BareSubscriber(
                named.label, self._sdk(named.label), stream, arn, self._collector
            ).run()
        return await self._poller(named.label, consumer)

    async def _poller(self, label: str, consumer: Consumer) -> Running:
        """Loops do not start in step: processes do not either."""
        interval_s = consumer.interval_ms / 1000
        poller = BarePoller(
            label, self._sdk(label), self._names.stream, self._collector, interval_s
        )
        await poller.open()
        late_s = self._random(f"{label}/start").random()

        async def run() -> None:
            await asyncio.sleep(late_s)
            await poller.run()

        return run()

    def _library(self, named: ConsumerRecord, consumer: Consumer) -> LibraryConsumer:
        made = LibraryConsumer(
            named,
            consumer,
            self._client,
            self._names.stream,
            self._collector,
            self._random(named.label),
        )
        self.library.append(made)
        return made

    def _mapping(
        self, named: ConsumerRecord, consumer: Consumer, arn: str | None
    ) -> EventSourceMapping:
        assert named.function is not None
        workers = consumer.workers if "workers" in consumer.model_fields_set else SHIPPED_WORKERS
        code = OrderLatency(
            named.label,
            self._collector,
            workers,
            self._random(f"{named.label}/backoff"),
            consumer=named.function,
            observer=self._observer,
        )
        function = InProcessFunction(
            handler=code.handler,
            wall_ms=wall_ms,
            name=named.function,
            timeout_s=SHIPPED_TIMEOUT_S,
            duration_s=self._calibration.function_overhead_ms / 1000,
            observer=self._observer,
        )
        identity = MappingIdentity(
            uuid=virtual_mapping_uuid(named.label),
            function_name=function.name,
            function_arn=function.arn,
            invoke_identity_arn=f"{function.arn}/role",
            stream_name=self._names.stream,
            stream_arn=self._stream_arn,
            consumer_arn=arn,
        )
        ports = MappingPorts(
            kinesis=InProcessKinesis(self._model, wall_ms, self._caller(arn)),
            invoke=function.invoke,
            wall_ms=wall_ms,
            observer=self._observer,
            destination=self._take,
            rng=self._random(f"{named.label}/mapping"),
        )
        measured = self._experiment.service.delays == "measured"
        timing = PollTiming.measured() if measured else PollTiming.exact()
        return EventSourceMapping(
            with_parameters(SHIPPED, self._experiment), identity, ports, timing
        )

    def _caller(self, arn: str | None) -> Caller:
        """One standard mapping on a shard is never refused, as in the published measurement;
        nothing says so of several, so they share the shard's reads as everybody does."""
        standard = sum(
            each.count for each in self._experiment.consumers if each.kind == "lambda-standard"
        )
        return Caller.API if arn is None and standard > 1 else Caller.EVENT_SOURCE_MAPPING

    async def _take(self, message: dict[str, Any]) -> None:
        self.failed_batches += 1

    def _sdk(self, label: str) -> SdkClient:
        return SdkClient(self._client, self._calibration.retries, self._random(f"{label}/retries"))

    def _random(self, purpose: str) -> Random:
        """A generator of its own for each purpose, so that one more draw here changes nothing
        there."""
        return Random(f"{self._experiment.service.seed}/{purpose}")
