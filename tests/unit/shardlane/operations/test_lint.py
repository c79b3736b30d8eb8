"""Each rule on what it finds and on what it leaves alone; templates in every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane.cli.main import main
from shardlane.operations.errors import OperationError
from shardlane.operations.lint.from_template import inspect_template
from shardlane.operations.lint.inspected import (
    UNKNOWN,
    Inspected,
    InspectedAlarm,
    InspectedConsumer,
    InspectedMapping,
)
from shardlane.operations.lint.rules import RULES, lint
from shardlane.operations.lint.template_file import parse_template, read_template

SOUND = InspectedMapping(
    where="Mapping",
    source="Stream",
    retries=3,
    on_failure=True,
    partial=True,
    batch_size=100,
    starting_position="TRIM_HORIZON",
    filters=('{"data": {"n": [1]}}',),
)


def mappings(**fields: Any) -> Inspected:
    return Inspected(mappings=(replace(SOUND, **fields),))


def alarm(namespace: str, metric: str, has_dimensions: bool = False) -> Inspected:
    return Inspected(
        alarms=(
            InspectedAlarm(
                where="Alarm", namespace=namespace, metric=metric, has_dimensions=has_dimensions
            ),
        )
    )


def polled(count: int, others: int = 0, **fields: Any) -> Inspected:
    each = [replace(SOUND, where=f"Mapping{n}", **fields) for n in range(count)]
    return Inspected(mappings=tuple(each), other_readers=others)


FOUND = [
    ("endless-retries", mappings(retries=None, on_failure=False)),
    ("endless-retries", mappings(retries=-1, age_s=-1)),
    ("no-on-failure", mappings(on_failure=False)),
    ("no-on-failure", mappings(on_failure=False, retries=None, age_s=600)),
    ("no-partial-responses", mappings(partial=False)),
    ("empty-filter", mappings(filters=(None,))),
    ("empty-filter", mappings(filters=("",))),
    ("empty-filter", mappings(filters=("{}",))),
    ("empty-filter", mappings(filters=('{"data": 1}', " { } "))),
    ("empty-filter", mappings(filters=("{data: 1}",))),
    ("latest", mappings(starting_position="LATEST")),
    ("too-many-readers", polled(6)),
    ("too-many-readers", polled(4, others=2)),
    ("batch-over-6mb", mappings(batch_size=10_000)),
    ("ignored-settings", mappings(ignored=("ProvisionedPollerConfig",))),
    ("consumer-tags", Inspected(consumers=(InspectedConsumer(where="C", has_tags=True),))),
    ("alarm-without-dimensions", alarm("AWS/Kinesis", "GetRecords.IteratorAgeMilliseconds")),
    ("alarm-without-dimensions", alarm("AWS/Lambda", "IteratorAge")),
    ("alarm-without-dimensions", alarm("AWS/Lambda", "DroppedEventCount")),
    ("alarm-without-dimensions", alarm("AWS/SQS", "ApproximateAgeOfOldestMessage")),
]

LEFT_ALONE = [
    mappings(),
    mappings(retries=UNKNOWN, age_s=UNKNOWN, on_failure=UNKNOWN, partial=UNKNOWN),
    mappings(batch_size=UNKNOWN, starting_position=UNKNOWN, filters=(UNKNOWN,)),
    mappings(retries=None, age_s=600),
    mappings(filters=()),
    polled(5),
    polled(6, fan_out=True),
    Inspected(mappings=tuple(replace(SOUND, source=f"Stream{n}") for n in range(6))),
    Inspected(consumers=(InspectedConsumer(where="C", has_tags=False),)),
    alarm("AWS/Kinesis", "IncomingRecords", has_dimensions=True),
    alarm("AWS/Lambda", "Errors"),
    alarm("AWS/EC2", "CPUUtilization"),
    alarm("Orders", "Handled"),
]


@pytest.mark.parametrize(
    ("rule", "inspected"), FOUND, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(FOUND)]
)
def test_found(rule: str, inspected: Inspected) -> None:
    (finding,) = lint(inspected)
    assert finding.rule == rule
    assert finding.where
    assert all(each.strip() for each in (finding.problem, finding.reason, finding.fix))


def test_every_rule_is_tried() -> None:
    assert {rule for rule, _ in FOUND} == {each.__name__.replace("_", "-") for each in RULES}


@pytest.mark.parametrize("inspected", LEFT_ALONE, ids=range(len(LEFT_ALONE)))
def test_left_alone(inspected: Inspected) -> None:
    assert lint(inspected) == []


@pytest.mark.parametrize(
    ("record_bytes", "batch_size", "found"),
    [(1_024, 3_256, False), (1_024, 3_257, True), (65_536, 71, False), (65_536, 72, True)],
    ids=str,
)
def test_what_fits_into_an_event(record_bytes: int, batch_size: int, found: bool) -> None:
    """6 MiB over base64 of the data and 564 bytes of envelope."""
    inspected = replace(mappings(batch_size=batch_size), record_bytes=record_bytes)
    assert bool(lint(inspected)) is found


# --- templates --------------------------------------------------------------------------------

YAML = """
AWSTemplateFormatVersion: 2010-09-09
Transform: AWS::Serverless-2016-10-31
Parameters:
  Retries: {Type: Number, Default: 7}
  Size: {Type: Number}
Conditions:
  Live: !Equals [!Ref Size, 1]
Resources:
  Stream:
    Type: AWS::Kinesis::Stream
    Properties: {ShardCount: 1}
  Reader:
    Type: AWS::Kinesis::StreamConsumer
    Properties:
      ConsumerName: !Sub '${AWS::StackName}-reader'
      StreamARN: !GetAtt Stream.Arn
      Tags: [{Key: a, Value: b}]
  Standard:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Stream.Arn
      FunctionName: !Ref Function
      StartingPosition: !If [Live, LATEST, TRIM_HORIZON]
      MaximumRetryAttempts: !Ref Retries
      BatchSize: !Ref Size
      FunctionResponseTypes: [ReportBatchItemFailures]
      DestinationConfig: {OnFailure: {Destination: !GetAtt [Queue, Arn]}}
  FanOut:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Reader.ConsumerARN
      FunctionName: !Ref Function
      StartingPosition: LATEST
      FilterCriteria: {Filters: [{Pattern: '{}'}]}
  ThroughTheConsumer:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Reader.StreamARN
      FunctionName: !Ref Function
      StartingPosition: TRIM_HORIZON
  OfATable:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Table.StreamArn
      FunctionName: !Ref Function
      StartingPosition: LATEST
  OfAQueue:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: !GetAtt Queue.Arn, FunctionName: !Ref Function}
  Table: {Type: AWS::DynamoDB::Table}
  Queue: {Type: AWS::SQS::Queue}
  Function:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        Orders:
          Type: Kinesis
          Properties: {Stream: !GetAtt Stream.Arn, StartingPosition: AT_TIMESTAMP}
        Rows:
          Type: DynamoDB
          Properties: {Stream: !GetAtt Table.StreamArn, StartingPosition: LATEST}
  Math:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - Id: a
          MetricStat: {Metric: {Namespace: AWS/Kinesis, MetricName: IncomingRecords}, Stat: Sum}
        - {Id: b, Expression: a * 2}
"""


def test_yaml_with_short_forms_parameters_conditions_and_sam_events() -> None:
    inspected = inspect_template(parse_template(YAML, "template.yaml"))
    found = {each.where: each for each in inspected.mappings}
    assert list(found) == ["Standard", "FanOut", "ThroughTheConsumer", "Function.Events.Orders"]
    standard = found["Standard"]
    assert (standard.retries, standard.batch_size) == (7, UNKNOWN)
    assert (standard.partial, standard.on_failure) == (True, True)
    assert standard.starting_position is UNKNOWN
    assert [each.fan_out for each in found.values()] == [False, True, False, False]
    sources = [each.source for each in found.values() if not each.fan_out]
    assert sources == ["Stream", "Stream", "Stream"]
    assert found["FanOut"].filters == ("{}",)
    assert [each.has_tags for each in inspected.consumers] == [True]
    (alarm_,) = inspected.alarms
    assert (alarm_.where, alarm_.metric, alarm_.has_dimensions) == (
        "Math",
        "IncomingRecords",
        False,
    )


def acknowledging(reasons: Any, **others: Any) -> dict[str, Any]:
    mapping = {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {
            "EventSourceArn": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
            "StartingPosition": "LATEST",
            "MaximumRetryAttempts": 3,
        },
        "Metadata": {"shardlane": {"acknowledged": reasons}},
    }
    return {"Resources": {"M": mapping, **others}}


def test_what_is_acknowledged_says_why_and_nothing_else_is() -> None:
    found = lint(inspect_template(acknowledging({"latest": " a lab "})))
    assert {each.rule: each.acknowledged for each in found} == {
        "latest": "a lab",
        "no-on-failure": None,
        "no-partial-responses": None,
    }


@pytest.mark.parametrize("reasons", [{"latest": " "}, {"latest": None}, {"other": "x"}, "latest"])
def test_without_a_reason_nothing_is_acknowledged(reasons: Any) -> None:
    found = lint(inspect_template(acknowledging(reasons)))
    assert [each.acknowledged for each in found] == [None] * 3


def test_a_finding_about_several_needs_the_word_of_each() -> None:
    crowd = polled(6)
    said = {f"Mapping{n}": {"too-many-readers": "one reads" if n else "idle"} for n in range(6)}
    (finding,) = lint(replace(crowd, acknowledged=said))
    assert finding.acknowledged == "idle; one reads"
    del said["Mapping3"]
    (finding,) = lint(replace(crowd, acknowledged=said))
    assert finding.acknowledged is None


def test_the_exit_status_is_that_of_what_nobody_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.json"
    reasons = {"latest": "a lab", "no-on-failure": "a lab", "no-partial-responses": "a lab"}
    path.write_text(json.dumps(acknowledging(reasons)))
    assert main(("lint", str(path))) == 0
    said = capsys.readouterr().out
    assert said.count("  acknowledged: a lab\n") == 3
    assert "fix:" not in said
    assert said.endswith(
        "0 findings (3 more acknowledged) in 1 Kinesis mapping, 0 alarms, 0 stream consumers\n"
    )
    path.write_text(json.dumps(acknowledging({"latest": "a lab"})))
    assert main(("lint", str(path), "--json")) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["acknowledged"] for each in found] == [None, None, "a lab"]


SOURCES: list[tuple[Any, bool | None]] = [
    ("arn:aws:kinesis:eu-west-1:123456789012:stream/orders", False),
    ("arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/a:1", True),
    ("arn:aws:dynamodb:eu-west-1:123456789012:table/t/stream/x", None),
    ("arn:aws:kafka:eu-west-1:123456789012:cluster/c", None),
    ({"Fn::Sub": "arn:aws:kinesis:${AWS::Region}:${AWS::AccountId}:stream/orders"}, False),
    ({"Fn::Join": [":", ["arn:aws:kinesis:", {"Ref": "AWS::Region"}, "stream/x"]]}, False),
    ({"Fn::ImportValue": "Streams:ExportsOutputFnGetAttOrdersArn"}, False),
    ({"Fn::ImportValue": "Streams:ExportsOutputFnGetAttReaderConsumerARN"}, True),
    ({"Fn::ImportValue": "Tables:ExportsOutputFnGetAttDynamoDBTableStreamArn"}, None),
    ({"Ref": "StreamArnParameter"}, False),
    ({"Fn::GetAtt": "Stream.Arn"}, False),
    ({"Ref": "Reader"}, True),
]


@pytest.mark.parametrize(
    ("source", "fan_out"), SOURCES, ids=[json.dumps(source) for source, _ in SOURCES]
)
def test_what_a_mapping_reads_is_known_however_it_is_named(
    source: Any, fan_out: bool | None
) -> None:
    properties = {"EventSourceArn": source, "StartingPosition": "TRIM_HORIZON"}
    resources = {
        "Stream": {"Type": "AWS::Kinesis::Stream"},
        "Reader": {"Type": "AWS::Kinesis::StreamConsumer"},
        "M": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties},
    }
    found = inspect_template({"Resources": resources}).mappings
    assert [each.fan_out for each in found] == ([] if fan_out is None else [fan_out])


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Ref", "Fn::GetAtt", "Fn::If", "Filters", "OnFailure", "Metric"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=8,
)
NAMES = [
    "EventSourceArn",
    "StartingPosition",
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
    "BatchSize",
    "FunctionResponseTypes",
    "FilterCriteria",
    "DestinationConfig",
    "Tags",
    "Namespace",
    "MetricName",
    "Metrics",
    "Dimensions",
    "Events",
]


@given(
    type_=st.sampled_from(
        [
            "AWS::Lambda::EventSourceMapping",
            "AWS::Kinesis::StreamConsumer",
            "AWS::CloudWatch::Alarm",
            "AWS::Serverless::Function",
        ]
    ),
    properties=st.dictionaries(st.sampled_from(NAMES), ANY, max_size=6) | ANY,
)
def test_no_template_makes_it_fail(type_: str, properties: Any) -> None:
    resources = {"A": {"Type": type_, "Properties": properties}, "B": properties}
    lint(inspect_template({"Resources": resources}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no Resources"),
        ("{", "is not JSON"),
        ("{}", "has no Resources"),
        ("a: [", "is not YAML"),
        ("Resources: 7", "has no Resources"),
        ("- a", "has no Resources"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
    ids=repr,
)
def test_what_is_no_template_is_said_to_be_none(text: str, message: str) -> None:
    with pytest.raises(OperationError, match=message):
        parse_template(text, "t.yaml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OperationError, match="cannot be read"):
        read_template(tmp_path / "none.yaml")


def test_the_command_exits_with_1_and_says_reason_and_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(YAML, encoding="utf-8")
    assert main(["lint", str(path)]) == 1
    written = capsys.readouterr().out
    assert "FanOut: StartingPosition is LATEST [latest]\n  why: a mapping takes" in written
    assert "  fix: TRIM_HORIZON" in written
    assert "in 4 Kinesis mappings, 1 alarm, 1 stream consumer" in written
    assert main(["lint", str(path), "--json", "--record-bytes", "65536"]) == 1
    assert {each["rule"] for each in json.loads(capsys.readouterr().out)} >= {
        "consumer-tags",
        "empty-filter",
        "batch-over-6mb",
    }


def test_a_sound_template_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "template.json"
    path.write_text(json.dumps({"Resources": {}}), encoding="utf-8")
    assert main(["lint", str(path)]) == 0
    assert capsys.readouterr().out.startswith("0 findings in 0 Kinesis mappings")


@pytest.mark.parametrize("arguments", [[], ["t.json", "--stream", "s"]], ids=["neither", "both"])
def test_a_template_or_a_stream(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", *arguments]) == 2
    assert "needs a template or --stream" in capsys.readouterr().err
