from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.cloud_assembly import Stack
from shardlane_lab.local_lambda.errors import TemplateError
from shardlane_lab.local_lambda.intrinsics import Resolver
from shardlane_lab.local_lambda.physical_name import Place

PLACE = Place("us-east-1", "000000000000")
TEMPLATE: dict[str, Any] = {
    "Parameters": {"Stage": {"Type": "String", "Default": "lab"}, "Bare": {"Type": "String"}},
    "Conditions": {
        "Lab": {"Fn::Equals": [{"Ref": "Stage"}, "lab"]},
        "Both": {"Fn::And": [{"Condition": "Lab"}, {"Fn::Not": [{"Condition": "Prod"}]}]},
        "Prod": {"Fn::Or": [{"Fn::Equals": ["a", "b"]}, {"Fn::Equals": ["a", "c"]}]},
    },
    "Resources": {
        "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "q-${Stage}"}}},
        "T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "t"}},
        "B": {"Type": "AWS::S3::Bucket"},
        "D": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {"TableName": "d"}},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        (7, 7),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "AWS::AccountId"}, "000000000000"),
        ({"Ref": "AWS::Partition"}, "aws"),
        ({"Ref": "AWS::StackName"}, "S"),
        ({"Ref": "Stage"}, "lab"),
        ({"Ref": "Q"}, "http://sqs.us-east-1.localhost/000000000000/q-lab"),
        ({"Fn::GetAtt": ["Q", "Arn"]}, "arn:aws:sqs:us-east-1:000000000000:q-lab"),
        ({"Fn::GetAtt": "Q.QueueName"}, "q-lab"),
        ({"Ref": "T"}, "arn:aws:sns:us-east-1:000000000000:t"),
        ({"Fn::GetAtt": ["B", "Arn"]}, "arn:aws:s3:::s-b"),
        ({"Fn::GetAtt": ["D", "Arn"]}, "arn:aws:dynamodb:us-east-1:000000000000:table/d"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Stage"}, 3]]}, "a-lab-3"),
        (
            {"Fn::Sub": "${AWS::Region}/${Stage}/${Q.QueueName}/${!Kept}"},
            "us-east-1/lab/q-lab/${Kept}",
        ),
        ({"Fn::Sub": ["${X}-${Stage}", {"X": {"Ref": "AWS::Region"}}]}, "us-east-1-lab"),
        ({"Fn::Split": ["/", "a/b/c"]}, ["a", "b", "c"]),
        ({"Fn::Select": [1, {"Fn::Split": ["/", "a/b/c"]}]}, "b"),
        ({"Fn::Select": ["2", ["a", "b", "c"]]}, "c"),
        ({"Fn::If": ["Lab", "yes", "no"]}, "yes"),
        ({"Fn::If": ["Prod", "yes", {"Ref": "AWS::NoValue"}]}, None),
        ({"a": {"Fn::If": ["Both", 1, 2]}, "b": {"Ref": "AWS::NoValue"}}, {"a": 1}),
        (["a", {"Ref": "AWS::NoValue"}, "b"], ["a", "b"]),
        ({"Ref": "Stage", "Other": 1}, {"Ref": "Stage", "Other": 1}),
    ],
)
def test_a_value_is_resolved(value: Any, expected: Any) -> None:
    stack = Stack("S", TEMPLATE, {})
    assert Resolver([stack], PLACE).resolve(stack, value) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"Ref": "Bare"}, "the parameter 'Bare' has no default"),
        ({"Fn::GetAtt": ["Q", "Nothing"]}, "S/Q (AWS::SQS::Queue): Fn::GetAtt of 'Nothing'"),
        ({"Fn::Select": [3, ["a"]]}, "Fn::Select of 3 in a list of 1"),
        ({"Fn::If": ["Unknown", 1, 2]}, "the condition 'Unknown' is not defined"),
        ({"Fn::Transform": {}}, "Fn::Transform is not understood"),
    ],
)
def test_what_has_no_value_here_says_so(value: Any, said: str) -> None:
    stack = Stack("S", TEMPLATE, {})
    with pytest.raises(TemplateError) as caught:
        Resolver([stack], PLACE).resolve(stack, value)
    assert said in str(caught.value)
