from __future__ import annotations

from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import KEY, Synthesized

STREAM = "AWS::Kinesis::Stream"
CONSUMER = "AWS::Kinesis::StreamConsumer"
EXISTING = "arn:aws:kinesis:eu-west-1:111122223333:stream/old-orders"


def test_the_stream_is_provisioned_and_encrypted(distinct: CloudAssembly) -> None:
    stream = distinct.one(STREAM).properties
    assert {key: value for key, value in stream.items() if key != "Tags"} == {
        "Name": "orders",
        "ShardCount": 6,
        "RetentionPeriodHours": 48,
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
        "StreamEncryption": {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"},
    }


def test_the_default_stage_creates_what_the_comparison_needs(dev: CloudAssembly) -> None:
    stream = dev.one(STREAM).properties
    assert (stream["Name"], stream["ShardCount"]) == ("order-events", 1)
    names = {each.properties["ConsumerName"] for each in dev.of_type(CONSUMER)}
    assert names == {"order-events-lambda-efo", "order-events-boto3-efo"}


def test_a_key_of_ones_own_encrypts_what_keeps_data(otherwise: CloudAssembly) -> None:
    stream = otherwise.one(STREAM).properties
    assert stream["StreamEncryption"] == {"EncryptionType": "KMS", "KeyId": KEY}
    tables = [
        each.properties["SSESpecification"].get("KMSMasterKeyId")
        for each in otherwise.of_type("AWS::DynamoDB::Table")
        if "LotTable" in each.logical_id
    ]
    assert tables == [KEY, KEY]
    buckets = otherwise.of_type("AWS::S3::Bucket")
    assert len(buckets) == 3
    for bucket in buckets:
        (rule,) = bucket.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == KEY
        assert rule["BucketKeyEnabled"] is True


def test_consumers_are_registered_on_the_stream(distinct: CloudAssembly) -> None:
    for name in ("orders-pushed", "orders-pulled"):
        consumer = distinct.one(CONSUMER, ConsumerName=name)
        stream, attribute = distinct.follow(consumer.properties["StreamARN"])
        assert (stream.type, attribute) == (STREAM, "Arn")


def test_no_tag_reaches_a_stream_consumer(distinct: CloudAssembly) -> None:
    assert distinct.one(STREAM).properties["Tags"] == [
        {"Key": "cost", "Value": "42"},
        {"Key": "team", "Value": "orders"},
    ]
    for consumer in distinct.of_type(CONSUMER):
        assert set(consumer.properties) == {"ConsumerName", "StreamARN"}


def test_no_stack_has_tags_that_cloudformation_would_hand_down(distinct: CloudAssembly) -> None:
    stacks = [
        artifact
        for artifact in distinct.manifest["artifacts"].values()
        if artifact["type"] == "aws:cloudformation:stack"
    ]
    assert len(stacks) == 3
    assert [stack["properties"].get("tags", {}) for stack in stacks] == [{}, {}, {}]


def test_an_existing_stream_is_attached_and_none_is_created(synthesized: Synthesized) -> None:
    attached = synthesized({"stream_arn": EXISTING})
    assert attached.of_type(STREAM) == []
    assert [each.properties["StreamARN"] for each in attached.of_type(CONSUMER)] == [EXISTING] * 2
    standard = attached.one("AWS::Lambda::EventSourceMapping", EventSourceArn=EXISTING)
    function, _ = attached.follow(standard.properties["FunctionName"])
    assert function.properties["FunctionName"] == "order-latency-standard"
    assert attached.outputs["StreamName"] == "old-orders"


def test_prod_keeps_what_dev_deletes(dev: CloudAssembly, prod: CloudAssembly) -> None:
    keeping = (STREAM, "AWS::SQS::Queue", "AWS::Logs::LogGroup", "AWS::DynamoDB::Table")
    for assembly, policy in ((dev, "Delete"), (prod, "Retain")):
        kept = [each for each in assembly.resources if each.type in keeping]
        assert len(kept) == 5
        for resource in kept:
            assert resource.body["DeletionPolicy"] == policy
            assert resource.body["UpdateReplacePolicy"] == policy


def test_without_a_word_about_removal_the_stream_is_kept(synthesized: Synthesized) -> None:
    assert synthesized({}).one(STREAM).body["DeletionPolicy"] == "Retain"


def test_outputs_name_what_the_lab_needs(distinct: CloudAssembly) -> None:
    outputs = distinct.outputs
    assert set(outputs) == {
        "StreamName",
        "StreamArn",
        "LambdaEfoConsumerName",
        "LambdaEfoConsumerArn",
        "Boto3EfoConsumerName",
        "Boto3EfoConsumerArn",
        "OnFailureQueueUrl",
        "ParkingTableName",
        "ParkingBucketName",
        "StandardParkingConsumer",
        "EfoParkingConsumer",
        "LoadFunctionName",
        "AlarmTopicArn",
        "StandardFunctionName",
        "StandardLogGroupName",
        "StandardMappingId",
        "EfoFunctionName",
        "EfoLogGroupName",
        "EfoMappingId",
        "DashboardName",
    }
    assert outputs["LambdaEfoConsumerName"] == "orders-pushed"
    pushed, attribute = distinct.follow(outputs["LambdaEfoConsumerArn"])
    assert (pushed.properties["ConsumerName"], attribute) == ("orders-pushed", "ConsumerARN")
    pulled, attribute = distinct.follow(outputs["Boto3EfoConsumerArn"])
    assert (pulled.properties["ConsumerName"], attribute) == ("orders-pulled", "ConsumerARN")
    mapping, attribute = distinct.follow(outputs["EfoMappingId"])
    assert (mapping.properties["BatchSize"], attribute) == (211, "Ref")
