"""What happens to the stream while a local run goes on: faults come and go, shards split."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_faults import fault_plans
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_kinesis.faults import FaultPlan
from shardlane_lab.local_kinesis.wire.admin import FAULTS_PATH
from shardlane_lab.local_stack import LocalStack
from shardlane_lab.task_end import end_task

_COUNTED = ("matched", "fired")


class Course:
    """``start`` it when the first record is sent; ``check`` raises what went wrong with it."""

    def __init__(self, experiment: Experiment, stream: str, services: LocalStack) -> None:
        self._experiment = experiment
        self._stream = stream
        self._services = services
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def check(self) -> None:
        if self._task is not None and self._task.done():
            self._task.result()

    async def stop(self) -> None:
        if self._task is not None:
            await end_task(self._task)

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        start_s = clock()
        for at_s, happen in self._events():
            await asyncio.sleep(max(0.0, start_s + at_s - clock()))
            await asyncio.to_thread(happen)

    def _events(self) -> list[tuple[float, Callable[[], None]]]:
        """What blocks, in a thread each, and when."""
        faults = [
            (at_s, partial(self._set_faults, plan)) for at_s, plan in fault_plans(self._experiment)
        ]
        reshards = [
            (each.at_s, partial(self._reshard, each.shards)) for each in self._experiment.reshards
        ]
        return sorted([*faults, *reshards], key=lambda event: event[0])

    def _set_faults(self, plan: FaultPlan) -> None:
        rules = plan.as_dict()
        rules["fault"] = [_rule(values) for values in rules["fault"]]
        request = urllib.request.Request(
            self._services.kinesis_endpoint + FAULTS_PATH,
            data=json.dumps(rules).encode(),
            method="PUT",
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(request, timeout=10).close()

    def _reshard(self, shards: int) -> None:
        variables = self._services.variables()
        client = local_client(
            "kinesis", self._services.kinesis_endpoint, variables["AWS_DEFAULT_REGION"]
        )
        client.update_shard_count(
            StreamName=self._stream, TargetShardCount=shards, ScalingType="UNIFORM_SCALING"
        )
        client.close()


def _rule(values: dict[str, Any]) -> dict[str, Any]:
    """A rule as a fault file says it: without its counts, and without what it leaves open."""
    return {
        name: value for name, value in values.items() if name not in _COUNTED and value is not None
    }
