"""One experiment on AWS: `AwsRun.run`, read from top to bottom, is its course.

The deployed functions read already; other consumers run here. Whatever is registered or started
for the run is gone when it ends, however it ends.
"""

from __future__ import annotations

import asyncio
import platform
import time
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from shardlane_lab.aws.access import Access
from shardlane_lab.aws.cloudwatch import minutes_of, wanted
from shardlane_lab.aws.deployment import Deployment
from shardlane_lab.aws.load_in_region import LoadInRegion, invoking
from shardlane_lab.aws.log_tail import LogTail
from shardlane_lab.aws.registration import RUN, deregister, register
from shardlane_lab.collector import Collector
from shardlane_lab.errors import ProcessError
from shardlane_lab.experiment import FAN_OUT_KINDS, MAPPING_KINDS, Experiment
from shardlane_lab.experiment_record import described, recorded
from shardlane_lab.local_lambda.template_values import ConsumerSpec
from shardlane_lab.metric import MinuteStatistic
from shardlane_lab.processes.parent import Process
from shardlane_lab.progress import Progress
from shardlane_lab.reader_process import reader_process
from shardlane_lab.run_record import ConsumerRecord, Run
from shardlane_lab.run_watch import Watch, until_received
from shardlane_lab.sample import Sample
from shardlane_lab.task_end import end_task
from shardlane_lab.wiring import ProcessConsumer

READY_WITHIN_S = 60.0
TICK_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited for what comes late."""

    quiet_s: float = 30.0
    """For consumers here: without any sample for so long nothing more comes."""
    logs_s: float = 180.0
    """For the functions' latency lines, after the last send."""
    look_every_s: float = 10.0
    """At the logs, and at the metrics."""
    metrics_s: float = 300.0
    """For CloudWatch to count all records that were sent."""


class AwsRun:
    """``run`` once; ``result`` any time after, also when ``run`` was stopped or failed."""

    def __init__(
        self,
        experiment: Experiment,
        deployment: Deployment,
        access: Access,
        progress: Progress,
        journal: Callable[[Sample], object] | None = None,
        *,
        in_region: bool = False,
        patience: Patience | None = None,
    ) -> None:
        """``in_region``: the load function sends, not this machine. ``journal`` is told of every
        sample as it comes."""
        self._experiment = experiment
        self._deployment = deployment
        self._access = access
        self._progress = progress
        self._in_region = in_region
        self._patience = patience or Patience()
        name = uuid.uuid4().hex[:12]
        self._wiring = list(_wiring(experiment, deployment, name))
        self._collector = Collector(name, [label for label, _ in experiment.labels()], journal)
        self._tailing: asyncio.Task[None] | None = None
        self._statistics: list[MinuteStatistic] = []
        self._complete = False

    async def run(self) -> None:
        """Raises ``ProcessError`` or ``AwsError`` if a part fails."""
        try:
            async with AsyncExitStack() as stack:
                await self._register(stack)
                consumers = [
                    await self._started(stack, self._reader(each)) for each in self._processes
                ]
                self._progress.say(f"{len(self._wiring)} consumers are reading; sending")
                watch = Watch(
                    consumers=consumers,
                    collector=self._collector,
                    progress=self._progress,
                    seconds=self._experiment.seconds,
                    every_s=TICK_S,
                )
                await self._until_sent(stack, watch)
                await self._until_received(watch)
                self._complete = self._collector.has_ended
        finally:
            await self._read_statistics()
        for remark in self._collector.remarks[:10]:
            self._progress.say(remark)

    # --- starting -----------------------------------------------------------------------------

    @property
    def _processes(self) -> list[ProcessConsumer]:
        return [each for each in self._wiring if each.consumer.kind not in MAPPING_KINDS]

    async def _register(self, stack: AsyncExitStack) -> None:
        kinesis, arn = self._access.client("kinesis"), self._deployment.stream_arn
        for each in self._processes:
            if each.registered is None or each.registered.name == self._deployment.boto3_consumer:
                continue
            name = each.registered.name
            self._progress.say(f"registering the stream consumer {name} for this run")
            # Before the call: one that is registered and not answered has to go, too.
            stack.push_async_callback(self._deregistered, kinesis, arn, name)
            await asyncio.to_thread(register, kinesis, arn, name)

    async def _deregistered(self, kinesis: Any, arn: str, name: str) -> None:
        await asyncio.to_thread(deregister, kinesis, arn, name)
        self._progress.say(f"deregistered {name}")

    def _reader(self, each: ProcessConsumer) -> Process:
        return reader_process(self._deployment.stream, each, self._collector.event)

    async def _started(self, stack: AsyncExitStack, process: Process) -> Process:
        stack.push_async_callback(process.stop)
        await process.start(self._access.environment)
        await process.wait_ready(READY_WITHIN_S)
        return process

    # --- while it goes on ---------------------------------------------------------------------

    async def _until_sent(self, stack: AsyncExitStack, watch: Watch) -> None:
        sending = asyncio.create_task(self._sending(stack))
        try:
            while not sending.done():
                self._start_tailing(stack)
                await self._look(watch)
            await sending
        finally:
            if not sending.done() and self._in_region:
                self._progress.say("waiting for the load function to end its part")
            await end_task(sending)
        self._start_tailing(stack)

    def _start_tailing(self, stack: AsyncExitStack) -> None:
        """Once the load has begun: what was sent before is not this run's."""
        if self._tailing is None and self._collector.started_ms is not None:
            self._tailing = asyncio.create_task(self._tail())
            stack.push_async_callback(end_task, self._tailing)

    async def _sending(self, stack: AsyncExitStack) -> None:
        plan = self._experiment.plan()
        if self._in_region:
            assert self._deployment.load_function is not None
            invoke = invoking(self._access.client("lambda"), self._deployment.load_function)
            await LoadInRegion(plan, invoke, self._collector).run()
            return
        settings = {"stream": self._deployment.stream, "load": asdict(plan), "label": "producer"}
        producer = await self._started(stack, Process("produce", settings, self._collector.event))
        await producer.finished.wait()
        if producer.died:
            raise ProcessError(producer.failure("died"))

    async def _tail(self) -> None:
        """Looks at the functions' logs again and again."""
        assert self._collector.started_ms is not None
        logs = self._access.client("logs")
        tails = [
            (
                each.label,
                LogTail(
                    logs,
                    self._deployment.functions[each.consumer.kind].log_group,
                    self._collector.started_ms,
                ),
            )
            for each in self._wiring
            if each.consumer.kind in MAPPING_KINDS
        ]
        while True:
            for label, tail in tails:
                for values in await asyncio.to_thread(tail.read):
                    self._collector.sample({**values, "label": label})
            await asyncio.sleep(self._patience.look_every_s)

    async def _until_received(self, watch: Watch) -> None:
        """Until all have arrived. Consumers here are given up after a silence, the functions'
        lines, which come late, after a longer time."""
        reads_logs = len(self._processes) < len(self._wiring)
        patience_s = self._patience.logs_s if reads_logs else self._patience.quiet_s
        await until_received(self._collector, patience_s, partial(self._look, watch))

    async def _look(self, watch: Watch) -> None:
        if self._tailing is not None and self._tailing.done():
            self._tailing.result()  # raises why the logs cannot be read
        await watch.look()

    # --- after it -----------------------------------------------------------------------------

    async def _read_statistics(self) -> None:
        """Of the minutes so far, once CloudWatch has counted every record; without waiting if the
        run was stopped."""
        if self._collector.started_ms is None:
            return
        until_s = time.monotonic() + (self._patience.metrics_s if self._complete else 0.0)
        self._progress.say("reading the metrics of the run from CloudWatch")
        cloudwatch = self._access.client("cloudwatch")
        while True:
            self._statistics = await asyncio.to_thread(self._minutes, cloudwatch)
            if self._counted() >= len(self._collector.sent) or time.monotonic() >= until_s:
                return
            await asyncio.sleep(self._patience.look_every_s)

    def _minutes(self, cloudwatch: Any) -> list[MinuteStatistic]:
        start_ms = self._collector.started_ms or 0.0
        metrics = wanted(
            self._deployment.stream,
            self._records(),
            [each.mapping_id for each in self._deployment.functions.values()],
        )
        return minutes_of(cloudwatch, metrics, start_ms, time.time() * 1000)

    def _counted(self) -> float:
        return sum(row.sum for row in self._statistics if row.name == "IncomingRecords")

    def _records(self) -> list[ConsumerRecord]:
        records = []
        for each in self._wiring:
            function = self._deployment.functions.get(each.consumer.kind)
            registered = each.registered.name if each.registered else None
            records.append(
                ConsumerRecord(
                    label=each.label,
                    kind=each.consumer.kind,
                    surfaced_throttles=self._collector.surfaced_throttles[each.label],
                    function=function.name if function else None,
                    efo_consumer=function.consumer if function else registered,
                    mapping_uuid=function.mapping_id if function else None,
                )
            )
        return records

    def result(self) -> Run:
        """What there is: all of it after a whole run, what came so far after any other."""
        collector = self._collector
        record = recorded(
            self._experiment,
            collector,
            target="aws",
            stream=self._deployment.stream,
            started_ms=collector.started_ms or time.time_ns() / 1e6,
            complete=self._complete,
            consumers=self._records(),
            environment=self._environment(),
        )
        return Run(record, collector.all_samples(), self._statistics, list(collector.gauges))

    def _environment(self) -> dict[str, Any]:
        packages = ("shardlane", "shardlane-lab", "boto3", "botocore")
        said = described(self._experiment)
        return {
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
            "region": self._access.region,
            "stage": self._deployment.stage,
            "load": "region" if self._in_region else "here",
            "experiment": said["experiment"],
            "outside_measured_range": said["outside_measured_range"],
        }


def _wiring(experiment: Experiment, deployment: Deployment, run: str) -> list[ProcessConsumer]:
    """The first subscriber gets the deployed stream consumer, further ones one of their own, which
    no other run has."""
    spare: str | None = deployment.boto3_consumer
    found = []
    for label, consumer in experiment.labels():
        registered = None
        if consumer.kind in FAN_OUT_KINDS and consumer.kind not in MAPPING_KINDS:
            name, spare = spare or f"{deployment.stream}-{RUN}-{run}-{label}", None
            registered = ConsumerSpec(name=name, stream=deployment.stream)
        found.append(ProcessConsumer(label=label, consumer=consumer, registered=registered))
    return found
