from __future__ import annotations

from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import Synthesized
from tests.infra.worker import TASK, command, container


def test_there_is_no_worker_unless_asked_for(dev: CloudAssembly, prod: CloudAssembly) -> None:
    for assembly in (dev, prod):
        assert not [name for name in assembly.templates if name.endswith("-worker")]


def test_the_command_is_one_that_the_worker_understands(otherwise: CloudAssembly) -> None:
    given = command(otherwise)
    leases = otherwise.follow(otherwise.outputs["LeaseTableName"])[0].logical_id
    assert given.stream == "order-events"
    assert given.handler == "orders:handle"
    assert given.source == "efo:order-events-boto3-efo"
    assert (given.workers, given.by_key, given.start) == (24, True, "horizon")
    assert given.leases == f"dynamodb:{leases}"
    assert (given.on_failure, given.consumer) == ("drop", "order-keeper")
    assert given.metrics is True


def test_it_drains_before_it_is_killed(otherwise: CloudAssembly) -> None:
    deployed = container(otherwise)
    assert deployed["StopTimeout"] == 90
    assert command(otherwise).drain <= deployed["StopTimeout"] - 15


def test_it_is_not_root_and_writes_nothing(otherwise: CloudAssembly) -> None:
    deployed = container(otherwise)
    assert deployed["User"] == "65532:65532"
    assert deployed["ReadonlyRootFilesystem"] is True
    assert "MountPoints" not in deployed
    assert deployed["HealthCheck"]["Command"][0] == "CMD"


def test_the_lease_table_is_the_kinesis_client_librarys(otherwise: CloudAssembly) -> None:
    table, _ = otherwise.follow(otherwise.outputs["LeaseTableName"])
    assert table.properties["KeySchema"] == [{"AttributeName": "leaseKey", "KeyType": "HASH"}]


def test_the_service_hands_over_before_it_lets_go(otherwise: CloudAssembly) -> None:
    service = otherwise.one("AWS::ECS::Service").properties
    assert service["DesiredCount"] == 3
    assert service["DeploymentConfiguration"]["MinimumHealthyPercent"] == 100
    assert service["DeploymentConfiguration"]["MaximumPercent"] == 200


def test_nobody_can_call_it(otherwise: CloudAssembly) -> None:
    group = otherwise.one("AWS::EC2::SecurityGroup").properties
    assert "SecurityGroupIngress" not in group
    (outwards,) = group["SecurityGroupEgress"]
    assert (outwards["FromPort"], outwards["ToPort"], outwards["IpProtocol"]) == (443, 443, "tcp")
    assert otherwise.of_type("AWS::EC2::NatGateway") == []


def test_it_may_read_as_its_consumer_and_hold_leases(otherwise: CloudAssembly) -> None:
    role, _ = otherwise.follow(otherwise.one(TASK).properties["TaskRoleArn"])
    allowed = {
        action
        for statement in otherwise.statements(role)
        for action in ([statement["Action"]] if isinstance(statement["Action"], str)
                       else statement["Action"])
    }  # fmt: skip
    assert allowed == {
        "dynamodb:DeleteItem",
        "dynamodb:DescribeTable",
        "dynamodb:PutItem",
        "dynamodb:Scan",
        "dynamodb:UpdateItem",
        "kinesis:DescribeStream",
        "kinesis:DescribeStreamConsumer",
        "kinesis:DescribeStreamSummary",
        "kinesis:GetRecords",
        "kinesis:GetShardIterator",
        "kinesis:ListShards",
        "kinesis:ListStreamConsumers",
        "kinesis:ListStreams",
        "kinesis:SubscribeToShard",
        "kms:Decrypt",
    }


def test_an_image_of_ones_own_is_built_later_and_it_parks(synthesized: Synthesized) -> None:
    """Synthesis stages the files and builds nothing: no Docker runs here."""
    built = synthesized({"worker": {"image": "built"}})
    image = container(built)["Image"]
    assert "container-assets" in str(image)
    staged = [path for path in built.folder.glob("asset.*") if (path / "deploy").is_dir()]
    assert len(staged) == 1
    assert (staged[0] / "deploy" / "Dockerfile").is_file()
    assert (staged[0] / "layers/shardlane/python/shardlane/__init__.py").is_file()
    assert not (staged[0] / "tests").exists()
    assert not (staged[0] / ".git").exists()
    given = command(built)
    lot = built.follow(built.outputs["WorkerParkingTableName"])[0].logical_id
    assert (given.on_failure, given.parking_table, given.source) == ("park", lot, "polling")
    role, _ = built.follow(built.one(TASK).properties["TaskRoleArn"])
    assert "dynamodb:ConditionCheckItem" in str(built.statements(role))
