"""One experiment on this machine: reading `LocalRun.run` from top to bottom is the course of it.

Everything reads before the first record is sent, and everything is stopped whatever happens.
"""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from shardlane.latency import samples_in_text
from shardlane_lab.collector import Collector
from shardlane_lab.errors import ProcessError
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_record import described, recorded
from shardlane_lab.gauge import gauge_data
from shardlane_lab.local_course import Course
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.local_stack import LocalStack, StackOptions
from shardlane_lab.metric import Datum, per_minute
from shardlane_lab.processes.parent import Process, local_environment
from shardlane_lab.progress import Progress
from shardlane_lab.reader_process import reader_process
from shardlane_lab.run_record import Run
from shardlane_lab.run_watch import Watch, until_received
from shardlane_lab.sample import Sample
from shardlane_lab.wiring import ProcessConsumer, wire

READY_WITHIN_S = 30.0
QUIET_S = 30.0
"""After the last send the run ends when every consumer has every record, or when no sample has
come for so long."""
TICK_S = 0.1


class LocalRun:
    """``run`` once; ``result`` any time after, also when ``run`` was stopped or failed."""

    def __init__(
        self,
        experiment: Experiment,
        template: Template,
        progress: Progress,
        journal: Callable[[Sample], object] | None = None,
    ) -> None:
        """``journal`` is told of every sample as it comes."""
        self._experiment = experiment
        self._template = template
        self._wiring = wire(experiment, template)
        self._progress = progress
        self._data: list[Datum] = []
        self._labels = {each.mapping.function: each.label for each in self._wiring.lambdas}
        self._collector = Collector(
            uuid.uuid4().hex[:12], [label for label, _ in experiment.labels()], journal
        )
        self._complete = False

    async def run(self) -> None:
        """Raises ``ProcessError`` if a part dies; nothing that was started outlives this call."""
        async with AsyncExitStack() as stack:
            self._progress.say("starting the local Kinesis, the functions and their mappings")
            services = await stack.enter_async_context(self._services())
            environment = local_environment(services.variables())
            consumers = [
                await self._started(stack, self._reader(each), environment)
                for each in self._wiring.processes
            ]
            self._progress.say(f"{len(self._collector.samples)} consumers are reading; sending")
            producer = await self._started(stack, self._producer(), environment)
            course = Course(self._experiment, self._wiring.stream, services)
            stack.push_async_callback(course.stop)
            course.start()
            watch = Watch(
                consumers=consumers,
                collector=self._collector,
                progress=self._progress,
                seconds=self._experiment.seconds,
                every_s=TICK_S,
            )
            await self._until_sent(producer, watch, course)
            await until_received(self._collector, QUIET_S, watch.look)
            self._complete = self._collector.has_ended
        for remark in self._collector.remarks[:10]:
            self._progress.say(remark)

    def result(self) -> Run:
        """What there is: all of it after a whole run, what came so far after any other."""
        collector = self._collector
        start_ms = collector.started_ms or time.time_ns() / 1e6
        record = recorded(
            self._experiment,
            collector,
            target="local",
            stream=self._wiring.stream,
            started_ms=start_ms,
            complete=self._complete,
            consumers=self._wiring.records(collector.surfaced_throttles),
            environment=self._environment(),
        )
        data = [*self._data, *gauge_data(collector.gauges)]
        return Run(
            record, collector.all_samples(), per_minute(data, start_ms), list(collector.gauges)
        )

    def _services(self) -> LocalStack:
        service = self._experiment.service
        measured = service.delays == "measured"
        options = StackOptions(
            delays=Delays.measured() if measured else Delays.none(),
            timing=PollTiming.measured() if measured else PollTiming.exact(),
            seed=service.seed,
        )
        return LocalStack(
            self._wiring.template, options, on_log=self._take_log, observer=self._data.append
        )

    def _take_log(self, function: str, line: str) -> None:
        for values in samples_in_text(line):
            self._collector.sample(values | {"label": self._labels[function]})

    def _reader(self, each: ProcessConsumer) -> Process:
        return reader_process(self._wiring.stream, each, self._collector.event)

    def _producer(self) -> Process:
        load = asdict(self._experiment.plan())
        settings = {"stream": self._wiring.stream, "load": load, "label": "producer"}
        return Process("produce", settings, self._collector.event)

    async def _started(
        self, stack: AsyncExitStack, process: Process, environment: Mapping[str, str]
    ) -> Process:
        stack.push_async_callback(process.stop)
        await process.start(environment)
        await process.wait_ready(READY_WITHIN_S)
        return process

    async def _until_sent(self, producer: Process, watch: Watch, course: Course) -> None:
        while not producer.finished.is_set():
            course.check()
            await watch.look()
        if producer.died:
            raise ProcessError(producer.failure("died"))

    def _environment(self) -> dict[str, Any]:
        packages = ("shardlane", "shardlane-lab", "boto3", "botocore", "awslambdaric")
        return {
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
            **described(self._experiment),
            "mappings": {each.label: asdict(each.mapping.config) for each in self._wiring.lambdas},
        }
