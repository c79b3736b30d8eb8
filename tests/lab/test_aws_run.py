"""A run on AWS against the local stack: the same calls, other endpoints. It never ran on AWS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab import experiment_file
from shardlane_lab.aws.access import Access
from shardlane_lab.aws.deployment import Deployment, find_deployment
from shardlane_lab.aws.fitting import check_fits, facts_of
from shardlane_lab.aws.run import AwsRun, Patience
from shardlane_lab.experiment import Experiment
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.local_stack import LocalStack
from shardlane_lab.processes.parent import local_environment
from shardlane_lab.progress import Progress
from shardlane_lab.run_record import Run

pytestmark = pytest.mark.slow(
    "the whole local stack and processes of its own, and latency lines that take their way "
    "through the logs"
)
LOAD = "order-latency-load"
PATIENCE = Patience(quiet_s=20, logs_s=60, look_every_s=0.5, metrics_s=30)


def experiment(seconds: float, rate_per_s: float = 10) -> Experiment:
    whole = experiment_file.load(experiment_file.find("round-1")).model_dump(exclude_unset=True)
    whole["load"]["rate_per_s"] = rate_per_s
    whole["consumers"][2]["count"] = 2  # one more subscriber than the stage has a consumer for
    return Experiment.model_validate(whole | {"seconds": seconds})


def subscribers(seconds: float) -> Experiment:
    """A function and two subscribers."""
    values = experiment(seconds).model_dump(exclude_unset=True)
    kept = [each for each in values["consumers"] if each["kind"].endswith("-efo")]
    return Experiment.model_validate(values | {"consumers": kept})


def one_function(seconds: float) -> Experiment:
    values = experiment(seconds).model_dump(exclude_unset=True)
    return Experiment.model_validate(values | {"consumers": [{"kind": "lambda-efo"}]})


class CloudFormation:
    """Answers as the service would if the template had been deployed: the local stack runs what a
    template says and has no stacks."""

    def __init__(self, template: Template) -> None:
        self._outputs = template.outputs

    def describe_stacks(self, *, StackName: str) -> dict[str, Any]:  # noqa: N803 – boto3's name
        of_stream = StackName == "shardlane-dev-stream"
        outputs = [
            {"OutputKey": key, "OutputValue": value}
            for key, value in self._outputs.items()
            if key.startswith(("Stream", "LambdaEfo", "Boto3")) is of_stream
        ]
        return {"Stacks": [{"StackStatus": "CREATE_COMPLETE", "Outputs": outputs}]}


def access_to(services: LocalStack, region: str) -> Access:
    variables = services.variables()

    def client(service: str) -> Any:
        endpoint = variables.get(
            f"AWS_ENDPOINT_URL_{service.upper()}", variables["AWS_ENDPOINT_URL"]
        )
        return local_client(service, endpoint, region)

    return Access(
        client=client,
        environment=local_environment(variables),
        region=region,
        account="000000000000",
    )


def with_load_function(template: Template) -> Template:
    """As a stage that deploys it."""
    efo = next(each for each in template.functions if each.name == "order-latency-efo")
    load = replace(
        efo,
        name=LOAD,
        code_folder=Path(__file__).parents[2] / "functions" / "load",
        environment={"STREAM_NAME": "order-events", "POWERTOOLS_SERVICE_NAME": LOAD},
    )
    return replace(
        template,
        functions=(*template.functions, load),
        outputs={**template.outputs, "LoadFunctionName": LOAD},
    )


@asynccontextmanager
async def deployed(template: Template) -> AsyncIterator[tuple[Access, Deployment]]:
    async with LocalStack(template) as services:
        access = access_to(services, template.region)
        yield access, find_deployment(CloudFormation(template), "dev")


def registered(access: Access, deployment: Deployment) -> set[str]:
    found = access.client("kinesis").list_stream_consumers(StreamARN=deployment.stream_arn)
    return {each["ConsumerName"] for each in found["Consumers"]}


LEFT = {"order-events-lambda-efo", "order-events-boto3-efo"}
"""What the app itself registers."""


def test_a_whole_run_and_a_stopped_one_leave_nothing_behind(assembly: Path) -> None:
    asyncio.run(_both(with_load_function(read_assembly(assembly))))


async def _both(template: Template) -> None:
    async with deployed(template) as (access, deployment):
        chosen = experiment(seconds=3)
        facts = await asyncio.to_thread(
            facts_of, deployment, access.client("kinesis"), access.client("lambda")
        )
        check_fits(chosen, deployment, facts, in_region=False)
        assert_whole(await _whole(chosen, access, deployment))
        assert await asyncio.to_thread(registered, access, deployment) == LEFT
        assert_sent_in_region(await _in_region(one_function(seconds=3), access, deployment))
        assert_stopped(await _stopped(subscribers(seconds=120), access, deployment))
        assert await asyncio.to_thread(registered, access, deployment) == LEFT


async def _whole(chosen: Experiment, access: Access, deployment: Deployment) -> Run:
    with Progress("aws") as progress:
        aws = AwsRun(chosen, deployment, access, progress, patience=PATIENCE)
        await aws.run()
    return aws.result()


def assert_whole(run: Run) -> None:
    assert run.record.target == "aws"
    assert run.record.complete
    assert run.record.sent == 30
    for consumer in run.record.consumers:
        seen = {sample.seq for sample in run.samples if sample.label == consumer.label}
        assert seen == set(range(30)), consumer.label
    counted = [row for row in run.statistics if row.name == "IncomingRecords"]
    assert sum(row.sum for row in counted) == 30
    assert {row.name for row in run.statistics} >= {"Invocations", "GetRecords.Success"}


async def _in_region(chosen: Experiment, access: Access, deployment: Deployment) -> Run:
    with Progress("aws") as progress:
        aws = AwsRun(chosen, deployment, access, progress, in_region=True, patience=PATIENCE)
        await aws.run()
    return aws.result()


def assert_sent_in_region(run: Run) -> None:
    """By the load function, in the real runtime client; its clock is in every sample."""
    assert run.record.complete
    assert run.record.environment["load"] == "region"
    assert run.record.sent == 30
    for sample in run.samples:
        assert sample.sent_ms >= run.record.started_ms
        assert sample.scheduled_ms == pytest.approx(run.record.started_ms + sample.seq * 100)


async def _stopped(chosen: Experiment, access: Access, deployment: Deployment) -> Run:
    """As Ctrl-C does: the run's task is cancelled, once there are samples of everybody."""
    with Progress("aws") as progress:
        aws = AwsRun(chosen, deployment, access, progress, patience=PATIENCE)
        running = asyncio.create_task(aws.run())
        while len({sample.label for sample in aws.result().samples}) < len(chosen.labels()):
            done, _ = await asyncio.wait((running,), timeout=0.2)
            assert not done, running.result()
        assert await asyncio.to_thread(registered, access, deployment) > LEFT
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return aws.result()


def assert_stopped(run: Run) -> None:
    assert not run.record.complete
    assert 0 < run.record.sent < 1200
    assert {sample.label for sample in run.samples} == {each.label for each in run.record.consumers}
    assert run.statistics
