"""What is found out, checked and said before a run on AWS begins. Nothing here reaches AWS: answers
are stubbed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from shardlane_lab import experiment_file
from shardlane_lab.aws.access import checked_access
from shardlane_lab.aws.cost import cost_text, run_cost
from shardlane_lab.aws.deployment import Deployment, deployment_from, find_deployment
from shardlane_lab.aws.errors import AwsError, explained
from shardlane_lab.aws.fitting import Facts, check_fits
from shardlane_lab.cli import run_aws
from shardlane_lab.errors import LabError
from shardlane_lab.experiment import Experiment
from shardlane_lab.prices.price_table import shipped_prices

OUTPUTS = {
    "StreamName": "order-events",
    "StreamArn": "arn:aws:kinesis:eu-west-1:123456789012:stream/order-events",
    "LambdaEfoConsumerName": "order-events-lambda-efo",
    "Boto3EfoConsumerName": "order-events-boto3-efo",
    "StandardFunctionName": "order-latency-standard",
    "StandardLogGroupName": "/aws/lambda/order-latency-standard",
    "StandardMappingId": "11111111-1111-4111-8111-111111111111",
    "EfoFunctionName": "order-latency-efo",
    "EfoLogGroupName": "/aws/lambda/order-latency-efo",
    "EfoMappingId": "22222222-2222-4222-8222-222222222222",
}


@pytest.fixture
def cloudformation() -> Iterator[tuple[Any, Stubber]]:
    client = boto3.client(
        "cloudformation",
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )
    with Stubber(client) as stub:
        yield client, stub


def stack(name: str, outputs: dict[str, str], status: str = "CREATE_COMPLETE") -> dict[str, Any]:
    return {
        "Stacks": [
            {
                "StackName": name,
                "CreationTime": "2026-11-30T00:00:00Z",
                "StackStatus": status,
                "Outputs": [
                    {"OutputKey": key, "OutputValue": value} for key, value in outputs.items()
                ],
            }
        ]
    }


def of_stream(name: str) -> bool:
    return name.startswith(("Stream", "LambdaEfo", "Boto3"))


class TestDeployment:
    def test_it_is_found_by_the_outputs_of_its_stacks(
        self, cloudformation: tuple[Any, Stubber]
    ) -> None:
        client, stub = cloudformation
        for name, mine in (("stream", True), ("consumers", False)):
            outputs = {key: value for key, value in OUTPUTS.items() if of_stream(key) is mine}
            stack_name = f"shardlane-prod-{name}"
            stub.add_response(
                "describe_stacks", stack(stack_name, outputs), {"StackName": stack_name}
            )
        found = find_deployment(client, "prod")
        assert found == deployment_from(OUTPUTS, "prod")
        assert found.functions["lambda-efo"].consumer == "order-events-lambda-efo"
        assert found.functions["lambda-standard"].consumer is None
        assert found.load_function is None
        stub.assert_no_pending_responses()

    def test_a_stack_that_is_not_there_is_named_with_the_way_to_get_it(
        self, cloudformation: tuple[Any, Stubber]
    ) -> None:
        client, stub = cloudformation
        message = "Stack with id shardlane-dev-stream does not exist"
        stub.add_client_error("describe_stacks", "ValidationError", message)
        with pytest.raises(AwsError, match=r"no stack shardlane-dev-stream .*deploy --all"):
            find_deployment(client, "dev")

    def test_a_stack_that_is_not_ready_is_named_with_its_status(
        self, cloudformation: tuple[Any, Stubber]
    ) -> None:
        client, stub = cloudformation
        stub.add_response("describe_stacks", stack("s", {}, "ROLLBACK_COMPLETE"))
        with pytest.raises(AwsError, match=r"shardlane-dev-stream is ROLLBACK_COMPLETE; .*CREATE"):
            find_deployment(client, "dev")

    def test_a_refusal_is_one_line(self, cloudformation: tuple[Any, Stubber]) -> None:
        client, stub = cloudformation
        stub.add_client_error("describe_stacks", "AccessDenied", "no")
        with pytest.raises(
            AwsError, match=r"^the stack .*: not allowed to call DescribeStacks: no$"
        ):
            find_deployment(client, "dev")

    @pytest.mark.parametrize("name", OUTPUTS)
    def test_an_output_that_is_missing_is_named(self, name: str) -> None:
        outputs = {key: value for key, value in OUTPUTS.items() if key != name}
        with pytest.raises(AwsError, match=f"have no output {name}: .*deploy them again"):
            deployment_from(outputs, "dev")


class TestAccess:
    @pytest.fixture(autouse=True)
    def nothing_configured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ACCESS_KEY_ID"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def test_no_region(self) -> None:
        with pytest.raises(AwsError, match=r"no region: give --region"):
            checked_access(None, None)

    def test_no_credentials(self) -> None:
        with pytest.raises(AwsError, match=r"credentials: no credentials; configure them"):
            checked_access("eu-west-1", None)

    def test_an_unknown_profile(self) -> None:
        with pytest.raises(AwsError, match=r"profile \(moon\) could not be found"):
            checked_access("eu-west-1", "moon")


def test_credentials_that_have_expired_are_said_to_have(
    cloudformation: tuple[Any, Stubber],
) -> None:
    client, stub = cloudformation
    stub.add_client_error("describe_stacks", "ExpiredToken", "it is over")
    with (
        pytest.raises(AwsError, match=r"not valid, or no longer: it is over"),
        explained("the stack"),
    ):
        client.describe_stacks()


def experiment(name: str = "round-1") -> Experiment:
    return experiment_file.load(experiment_file.find(name))


def changed(**values: Any) -> Experiment:
    """Round 1 with other values."""
    document = experiment().model_dump(exclude_unset=True)
    return Experiment.model_validate(document | values)


MAPPING = {
    "State": "Enabled",
    "BatchSize": 100,
    "MaximumBatchingWindowInSeconds": 0,
    "ParallelizationFactor": 1,
    "MaximumRetryAttempts": 10,
    "BisectBatchOnFunctionError": True,
    "MaximumRecordAgeInSeconds": 3600,
}
FUNCTION = {"Environment": {"Variables": {"WORKERS": "4"}}}


def facts(**values: Any) -> Facts:
    known: dict[str, Any] = {
        "shards": 1,
        "mode": "PROVISIONED",
        "registered": frozenset({"order-events-lambda-efo", "order-events-boto3-efo"}),
        "mappings": {"lambda-standard": MAPPING, "lambda-efo": MAPPING},
        "functions": {"lambda-standard": FUNCTION, "lambda-efo": FUNCTION},
    }
    return Facts(**(known | values))


DEPLOYMENT: Deployment = deployment_from(OUTPUTS, "dev")


class TestFitting:
    @pytest.mark.parametrize("name", ["round-1", "round-2"])
    def test_the_published_rounds_fit_what_is_deployed(self, name: str) -> None:
        check_fits(experiment(name), DEPLOYMENT, facts(), in_region=False)

    def test_parameters_that_are_deployed_fit(self) -> None:
        same = changed(mapping={"batch_size": 100, "window_s": 0, "bisect": True})
        check_fits(same, DEPLOYMENT, facts(), in_region=False)

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"outages": [{"at_s": 1, "seconds": 1}]}, "outages: only the local service"),
            ({"reshards": [{"at_s": 1, "shards": 2}]}, "reshards: only the local service"),
            ({"faults": [{"kind": "throttle"}]}, "faults: only the local service"),
            ({"shards": 2}, "shards: the experiment has 2, the stream 1"),
            (
                {"consumers": [{"kind": "lambda-standard", "count": 5}]},
                "consumers.0.count: the stage deploys one lambda-standard",
            ),
            (
                {"consumers": [{"kind": "lambda-efo", "workers": 8}]},
                "consumers.0.workers: the function is deployed with 4",
            ),
            (
                {"consumers": [{"kind": "boto3-efo", "count": 20}]},
                "20 subscribers need 19 more registered consumers; the stream has room for 18",
            ),
            (
                {"mapping": {"batch_size": 7}},
                "mapping.batch_size: the experiment has 7, lambda-standard is deployed with 100",
            ),
        ],
    )
    def test_what_does_not_fit_is_named(self, values: dict[str, Any], said: str) -> None:
        with pytest.raises(AwsError, match="which a run does not change") as raised:
            check_fits(changed(**values), DEPLOYMENT, facts(), in_region=False)
        assert said in str(raised.value)

    def test_a_mapping_that_is_off_is_named(self) -> None:
        off = facts(
            mappings={"lambda-standard": MAPPING | {"State": "Disabled"}} | {"lambda-efo": MAPPING}
        )
        with pytest.raises(AwsError, match="mapping of lambda-standard is Disabled, not Enabled"):
            check_fits(experiment(), DEPLOYMENT, off, in_region=False)

    def test_a_load_from_the_region_needs_its_function(self) -> None:
        with pytest.raises(AwsError, match="--load region: stage 'dev' deploys no load function"):
            check_fits(experiment(), DEPLOYMENT, facts(), in_region=True)

    def test_a_load_from_the_region_has_a_bound(self) -> None:
        much = changed(load={"rate_per_s": 1000.0}, seconds=600.0)
        there = deployment_from(OUTPUTS | {"LoadFunctionName": "load"}, "dev")
        with pytest.raises(AwsError, match="--load region: 600,000 records; allowed are 500,000"):
            check_fits(much, there, facts(), in_region=True)


class TestCost:
    def test_round_1_is_itemised(self) -> None:
        cost = run_cost(experiment(), shipped_prices().region("us-east-1"))
        quantities = {item.name: item.quantity for item in cost.items}
        assert quantities["PUT units of 25 KB"] == 3000
        assert quantities["EFO consumers registered for the run"] == 0
        assert quantities["Lambda requests"] == 3000 + 630
        assert quantities["EFO retrieval"] == pytest.approx(2 * 3000 * 100 / 1024**3)
        assert 0 < cost.known_usd < 0.01

    def test_further_consumers_are_billed_by_the_hour_that_began(self) -> None:
        eight = changed(consumers=[{"kind": "boto3-efo", "count": 8}], seconds=3700)
        cost = run_cost(eight, shipped_prices().region("us-east-1"))
        (item,) = [each for each in cost.items if each.name.startswith("EFO consumers")]
        assert item.quantity == 7 * 2
        assert item.usd == pytest.approx(14 * 0.015)

    def test_what_is_said(self) -> None:
        prices = shipped_prices().region("us-east-1")
        said = cost_text(run_cost(experiment(), prices), prices)
        assert "This run will cost about $0.00 in us-east-1 (list prices of 2026-11-30)" in said
        assert "Lambda requests" in said
        assert "beside the deployed stacks themselves" in said

    def test_a_region_without_prices_says_so(self) -> None:
        prices = shipped_prices().region("moon-1")
        said = cost_text(run_cost(experiment(), prices), prices)
        assert "no region 'moon-1' in the table" in said
        assert "unknown" in said


class TestAsking:
    @pytest.mark.parametrize("answer", ["n", "", "maybe"])
    def test_anything_but_yes_is_no(self, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda prompt: answer)
        with pytest.raises(LabError, match="not run"):
            run_aws.ask()

    def test_yes_is_yes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda prompt: "Y")
        run_aws.ask()

    def test_without_a_terminal_it_takes_a_flag(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
        with pytest.raises(LabError, match="costs money: say --yes"):
            run_aws.ask()
