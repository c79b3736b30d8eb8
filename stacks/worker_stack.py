"""The long-running consumer in containers: tasks that share a stream's shards by leases."""

from __future__ import annotations

import re
from pathlib import Path

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.acknowledged import FROM_ECR
from stacks.constructs.parking_lot import ParkingLot
from stacks.constructs.stream_source import READ_CONSUMER, READ_STREAM
from stacks.settings import StageSettings, WorkerSettings
from stacks.stream_stack import StreamStack, customer_key

BUILT = "built"
"""The setting's word for the image of ``deploy/Dockerfile``."""
# A lease is taken, renewed, checkpointed and released by conditional writes; the whole table is
# read to see who holds what.
HOLD_LEASES = (
    "dynamodb:DeleteItem",
    "dynamodb:DescribeTable",
    "dynamodb:PutItem",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
)
FIND_CONSUMER = ["kinesis:DescribeStreamConsumer", "kinesis:ListStreamConsumers"]
NOT_ROOT = "65532:65532"
RESERVE_S = 15
"""Between the end of the drain and the container's end: final checkpoints and releases."""
_ECR = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/"
    r"(?P<name>[a-z0-9._/-]+):(?P<tag>[A-Za-z0-9._-]+)"
)


class WorkerStack(Stack):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        settings: StageSettings,
        *,
        streams: StreamStack,
        sources: Path,
    ) -> None:
        super().__init__(scope, construct_id, description="shardlane: the long-running consumer")
        self._settings = settings
        self._worker = settings.worker
        self._streams = streams
        self._removal = RemovalPolicy[settings.removal.upper()]
        self._leases = self._lease_table()
        self._lot = ParkingLot(
            self,
            "WorkerLot",
            with_bucket=settings.payload_bucket,
            key=customer_key(self, settings),
            removal_policy=self._removal,
            point_in_time_recovery=self._removal is RemovalPolicy.RETAIN,
        )
        task = self._task(sources)
        self._grant(task.task_role)
        if task.execution_role is not None:
            Validations.of(task.execution_role).acknowledge(FROM_ECR)
        self._service(task)
        CfnOutput(self, "LeaseTableName", value=self._leases.table_name)
        CfnOutput(self, "WorkerParkingTableName", value=self._lot.table.table_name)

    def _lease_table(self) -> dynamodb.Table:
        """As the Kinesis Client Library has it: its tools read it, and it can take over."""
        return dynamodb.Table(
            self,
            "Leases",
            partition_key=dynamodb.Attribute(name="leaseKey", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=self._removal is RemovalPolicy.RETAIN
            ),
            removal_policy=self._removal,
        )

    def _task(self, sources: Path) -> ecs.FargateTaskDefinition:
        worker = self._worker
        arm64 = self._settings.architecture == "arm64"
        task = ecs.FargateTaskDefinition(
            self,
            "Task",
            cpu=worker.cpu_units,
            memory_limit_mib=worker.memory_mb,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=(
                    ecs.CpuArchitecture.ARM64 if arm64 else ecs.CpuArchitecture.X86_64
                ),
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
        )
        task.add_container(
            "Worker",
            image=self._image(sources),
            command=self._command(),
            user=NOT_ROOT,
            readonly_root_filesystem=True,
            # SIGTERM, then this long to drain and to hand the shards over, then SIGKILL.
            stop_timeout=Duration.seconds(worker.stop_timeout_s),
            # That the process runs; that it gets on is for the alarms to say.
            health_check=ecs.HealthCheck(
                command=["CMD", "python", "-c", "import os; os.kill(1, 0)"],
                interval=Duration.seconds(30),
                retries=3,
                start_period=Duration.seconds(30),
            ),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="worker", log_group=self._log_group("Logs")
            ),
        )
        return task

    def _image(self, sources: Path) -> ecs.ContainerImage:
        """Built only when that is asked for, and then when it is deployed: synthesis needs no
        Docker."""
        image = self._worker.image
        if image == BUILT:
            return ecs.ContainerImage.from_asset(
                str(sources),
                file="deploy/Dockerfile",
                exclude=["*", "!deploy", "!layers", "!stacks", "!examples", "!pyproject.toml",
                         "!README.md", "!LICENSE", "**/__pycache__"],
            )  # fmt: skip
        found = _ECR.fullmatch(image or "")
        if found is None:
            return ecs.ContainerImage.from_registry(image or "")
        repository = ecr.Repository.from_repository_attributes(
            self,
            "Repository",
            repository_name=found["name"],
            repository_arn=(
                f"arn:{self.partition}:ecr:{found['region']}:{found['account']}"
                f":repository/{found['name']}"
            ),
        )
        return ecs.ContainerImage.from_ecr_repository(repository, found["tag"])

    def _command(self) -> list[str]:
        worker, settings = self._worker, self._settings
        source = "polling"
        if worker.source == "efo":
            source = f"efo:{settings.boto3_efo_consumer_name}"
        command = [
            settings.read_stream_name,
            *("--handler", worker.handler),
            *("--source", source),
            *("--workers", str(worker.workers)),
            "--by-key",
            *("--leases", f"dynamodb:{self._leases.table_name}"),
            *("--start", worker.start),
            *("--drain", str(worker.stop_timeout_s - RESERVE_S)),
            *("--on-failure", settings.policy),
            *("--consumer", worker.name),
            "--metrics",
            "--quiet",
        ]
        if settings.policy == "park":
            command += ["--parking-table", self._lot.table.table_name]
            if self._lot.bucket is not None:
                command += ["--parking-bucket", self._lot.bucket.bucket_name]
        return command

    def _grant(self, role: iam.IRole) -> None:
        stream = self._streams.stream
        statements = [(READ_STREAM, stream.stream_arn)]
        if self._worker.source == "efo":
            consumer = self._streams.boto3_efo_consumer
            statements += [
                (FIND_CONSUMER, stream.stream_arn),
                (READ_CONSUMER, consumer.stream_consumer_arn),
            ]
        leases = [*HOLD_LEASES]
        if self._settings.policy == "park":
            # Parking is refused to a worker that has lost its shard meanwhile.
            leases.append("dynamodb:ConditionCheckItem")
            self._lot.grant_park(role)
            self._lot.grant_redrive(role)
        statements.append((leases, self._leases.table_arn))
        for actions, arn in statements:
            iam.Grant.add_to_principal(grantee=role, actions=actions, resource_arns=[arn])
        if stream.encryption_key is not None:
            stream.encryption_key.grant_decrypt(role)

    def _service(self, task: ecs.FargateTaskDefinition) -> None:
        network = self._network()
        cluster = ecs.Cluster(
            self,
            "Cluster",
            vpc=network,
            container_insights_v2=ecs.ContainerInsights.ENABLED,
        )
        group = ec2.SecurityGroup(
            self,
            "Outwards",
            vpc=network,
            description="The worker calls AWS over TLS and nobody calls it",
            allow_all_outbound=False,
        )
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "AWS APIs")
        ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            task_definition=task,
            desired_count=self._worker.tasks,
            assign_public_ip=True,
            security_groups=[group],
            # A new task takes its share before an old one leaves: shards are handed over, and
            # none waits for a lease to run out.
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
        )

    def _network(self) -> ec2.Vpc:
        """Public subnets, because the worker only calls out: no NAT gateway to pay for."""
        network = ec2.Vpc(
            self,
            "Network",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="worker", subnet_type=ec2.SubnetType.PUBLIC)
            ],
        )
        network.add_flow_log(
            "Flows", destination=ec2.FlowLogDestination.to_cloud_watch_logs(self._log_group("Flow"))
        )
        return network

    def _log_group(self, construct_id: str) -> logs.LogGroup:
        group = logs.LogGroup(self, construct_id, removal_policy=self._removal)
        resource = group.node.default_child
        assert isinstance(resource, logs.CfnLogGroup)
        resource.retention_in_days = self._settings.log_retention_days
        return group


def runs(worker: WorkerSettings) -> bool:
    """Whether there are workers at all."""
    return worker.image is not None
