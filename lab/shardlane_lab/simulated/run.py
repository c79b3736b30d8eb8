"""One experiment in virtual time: `SimulatedRun.run`, read from top to bottom, is its course.

It writes what a local run writes. The same experiment gives the same files, to the last byte.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from random import Random
from typing import Any

from shardlane_lab.collector import Collector
from shardlane_lab.consumer_names import Names
from shardlane_lab.experiment import MAPPING_KINDS, Experiment
from shardlane_lab.experiment_faults import fault_plans
from shardlane_lab.experiment_mapping import SHIPPED, with_parameters
from shardlane_lab.experiment_record import described, recorded
from shardlane_lab.gauge import EVERY_S, gauge_data, gauge_of
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import FaultPlan
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.stream_setup import create_stream
from shardlane_lab.local_lambda.template_values import StreamSpec
from shardlane_lab.metric import Datum, per_minute
from shardlane_lab.progress import Progress
from shardlane_lab.run_record import Run
from shardlane_lab.run_watch import until_received
from shardlane_lab.sample import Sample
from shardlane_lab.simulated.library import LibraryConsumer
from shardlane_lab.simulated.readers import Readers
from shardlane_lab.simulated.sdk import SdkClient
from shardlane_lab.simulated.sender import send
from shardlane_lab.simulator.parameters import CALIBRATIONS
from shardlane_lab.virtual_time import EPOCH_MS, wall_ms

STREAM = "order-events"
READING_BEFORE_S = 3.0
"""Every reader reads for so long before the first record is sent."""
QUIET_S = 120.0
"""After the last send the run ends when every consumer has every record, or when no sample has
come for so long."""
LOOK_EVERY_S = 1.0
SHOW_EVERY_S = 5.0


class SimulatedRun:
    """``run`` once, in virtual time; ``result`` any time after, also when ``run`` was stopped."""

    def __init__(
        self,
        experiment: Experiment,
        progress: Progress,
        journal: Callable[[Sample], object] | None = None,
        calibration: str = "H0",
    ) -> None:
        """``journal`` is told of every sample as it comes. ``calibration``: of the retries, see
        ``simulator.parameters``."""
        self._experiment = experiment
        self._progress = progress
        self._calibration = CALIBRATIONS[calibration]
        self._data: list[Datum] = []
        seed = experiment.service.seed
        self._collector = Collector(
            f"{experiment.name}-{seed}", [label for label, _ in experiment.labels()], journal
        )
        measured = experiment.service.delays == "measured"
        self._model = Kinesis(
            delays=Delays.measured() if measured else Delays.none(),
            seed=seed,
            observer=self._data.append,
        )
        self._client = InProcessKinesis(self._model, wall_ms)
        self._complete = False

    async def run(self) -> None:
        """Raises what a reader failed of."""
        experiment = self._experiment
        spec = StreamSpec(name=STREAM, shard_count=experiment.shards)
        arn = await create_stream(self._client, spec)
        readers = Readers(
            experiment, self._model, arn, self._collector, self._calibration, self._data.append
        )
        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(each) for each in await readers.start()]
            await asyncio.sleep(READING_BEFORE_S)
            parts += [group.create_task(each) for each in self._beside(readers.library)]
            await self._send()
            await until_received(self._collector, QUIET_S, partial(asyncio.sleep, LOOK_EVERY_S))
            for part in parts:
                part.cancel()
        self._complete = self._collector.has_ended

    def _beside(self, library: list[LibraryConsumer]) -> list[Coroutine[Any, Any, None]]:
        """What goes on meanwhile."""
        return [self._show(), self._course(), *(self._gauge(each) for each in library)]

    async def _send(self) -> None:
        start_ms = wall_ms()
        self._collector.event({"event": "started", "start_ms": start_ms})
        random = Random(f"{self._experiment.service.seed}/producer")
        client = SdkClient(self._client, self._calibration.retries, random)
        await send(self._experiment.plan(), client, STREAM, self._collector, start_ms)

    async def _show(self) -> None:
        begun_s = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(SHOW_EVERY_S)
            elapsed_s = asyncio.get_running_loop().time() - begun_s
            self._progress.update(self._collector, elapsed_s, self._experiment.seconds)

    async def _gauge(self, consumer: LibraryConsumer) -> None:
        while True:
            gauge = gauge_of(consumer.subscription.stats(), consumer.label, wall_ms())
            self._collector.event({"event": "gauge", **asdict(gauge)})
            await asyncio.sleep(EVERY_S)

    async def _course(self) -> None:
        """What happens to the stream: faults come and go, shards split and merge."""
        clock = asyncio.get_running_loop().time
        start_s = clock()
        events: list[tuple[float, Callable[[], Coroutine[Any, Any, None]]]] = []
        for at_s, plan in fault_plans(self._experiment):
            events.append((at_s, _setting(self._model, plan)))
        for each in self._experiment.reshards:
            events.append((each.at_s, _resharding(self._client, each.shards)))
        for at_s, happen in sorted(events, key=lambda event: event[0]):
            await asyncio.sleep(max(0.0, start_s + at_s - clock()))
            await happen()

    def result(self) -> Run:
        """What there is: all of it after a whole run, what came so far after any other."""
        experiment, collector = self._experiment, self._collector
        start_ms = collector.started_ms or EPOCH_MS
        names = Names(stream=STREAM)
        record = recorded(
            experiment,
            collector,
            target="simulated",
            stream=STREAM,
            started_ms=start_ms,
            complete=self._complete,
            consumers=(
                names.of(label, consumer.kind, collector.surfaced_throttles[label])
                for label, consumer in experiment.labels()
            ),
            environment=self._environment(),
        )
        data = [*self._data, *gauge_data(collector.gauges)]
        return Run(
            record, collector.all_samples(), per_minute(data, start_ms), list(collector.gauges)
        )

    def _environment(self) -> dict[str, Any]:
        packages = ("shardlane", "shardlane-lab")
        config = asdict(with_parameters(SHIPPED, self._experiment))
        mappings = {
            label: config
            for label, consumer in self._experiment.labels()
            if consumer.kind in MAPPING_KINDS
        }
        return {
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
            "model": "service",
            "calibration": self._calibration.label,
            **described(self._experiment),
            "mappings": mappings,
        }


def _setting(model: Kinesis, plan: FaultPlan) -> Callable[[], Coroutine[Any, Any, None]]:
    async def happen() -> None:
        model.faults = plan

    return happen


def _resharding(client: InProcessKinesis, shards: int) -> Callable[[], Coroutine[Any, Any, None]]:
    async def happen() -> None:
        request = {
            "StreamName": STREAM,
            "TargetShardCount": shards,
            "ScalingType": "UNIFORM_SCALING",
        }
        await client.call("UpdateShardCount", request)

    return happen
