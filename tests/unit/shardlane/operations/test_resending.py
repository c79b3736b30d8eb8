"""On-failure messages in a queue and in a bucket (moto's), and a function that takes them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from moto import mock_aws

from shardlane.operations.errors import OperationError
from shardlane.operations.message_source import (
    HIDDEN_S,
    BucketMessages,
    Letter,
    QueueMessages,
    bucket_and_prefix,
    queue_url,
)
from shardlane.operations.resend_messages import Resender
from shardlane.operations.unordered import Fate, Journal, Resent
from tests.unit.shardlane.entries import entry
from tests.unit.shardlane.operations.test_unordered import MESSAGE
from tests.unit.shardlane.parking.table_fixtures import credentials

__all__ = ["credentials"]


class Account:
    """SQS and S3 of moto's; ``lambda`` is this object, and handles what ``failing`` is not of."""

    def __init__(self) -> None:
        self.sqs = boto3.client("sqs", region_name="eu-west-1")
        self.s3 = boto3.client("s3", region_name="us-east-1")
        self.url = self.sqs.create_queue(QueueName="failed")["QueueUrl"]
        self.s3.create_bucket(Bucket="failed")
        self.failing = False
        self.invoked: list[tuple[str, str]] = []

    def __call__(self, service: str, *, answer_within_s: float | None = None) -> Any:
        return {"sqs": self.sqs, "s3": self.s3, "lambda": self}[service]

    def get_function_configuration(self, **request: str) -> Any:
        return {"Timeout": 30}

    def invoke(self, **request: Any) -> Any:
        (record,) = json.loads(request["Payload"])["Records"]
        number = record["kinesis"]["sequenceNumber"]
        self.invoked.append((request["FunctionName"], number))
        failures = [{"itemIdentifier": number}] if self.failing else []
        body = json.dumps({"batchItemFailures": failures}).encode()
        return {"Payload": StreamingBody(io.BytesIO(body), len(body))}

    def message(self, function: str = "billing", *positions: int) -> str:
        """With its payload, so that no stream is needed."""
        request = MESSAGE["requestContext"] | {
            "functionArn": f"arn:aws:lambda:eu-west-1:123456789012:function:{function}:live"
        }
        payload = {"Records": [entry(position, f"key-{position}") for position in positions]}
        return json.dumps(MESSAGE | {"requestContext": request, "payload": json.dumps(payload)})

    def waiting(self) -> int:
        return QueueMessages(self.sqs, self.url, 30).count()


@pytest.fixture
def account(credentials: None) -> Iterator[Account]:
    with mock_aws():
        made = Account()
        yield made
        made.sqs.close()
        made.s3.close()


def run(account: Account, source: Any, **options: Any) -> list[Resent]:
    clients: Any = account
    return [done for _, done in Resender(clients, source, Journal(), **options).run()]


def queue(account: Account) -> QueueMessages:
    return QueueMessages(account.sqs, account.url, 30)


def test_a_queues_message_is_deleted_when_all_its_records_are_done(account: Account) -> None:
    account.sqs.send_message(QueueUrl=account.url, MessageBody=account.message("billing", 1, 2))
    assert [each.fate for each in run(account, queue(account))] == [Fate.DONE]
    names = {function for function, _ in account.invoked}
    assert names == {"arn:aws:lambda:eu-west-1:123456789012:function:billing:live"}
    assert len(account.invoked) == 2
    assert account.waiting() == 0


def test_a_message_that_is_kept_is_there_for_others_right_after(account: Account) -> None:
    account.failing = True
    for _ in range(2):
        account.sqs.send_message(QueueUrl=account.url, MessageBody=account.message("billing", 1))
    done = run(account, queue(account))
    assert [each.fate for each in done] == [Fate.KEPT, Fate.KEPT]
    assert account.waiting() == 2
    account.failing = False
    assert [each.fate for each in run(account, queue(account))] == [Fate.DONE, Fate.DONE]


def test_what_is_of_another_function_or_no_message_is_left_alone(account: Account) -> None:
    bodies = (account.message("shipping", 1), "hello", account.message("billing", 2))
    for body in bodies:
        account.sqs.send_message(QueueUrl=account.url, MessageBody=body)
    done = run(account, queue(account), function="billing")
    assert sorted(each.fate.value for each in done) == ["done", "kept", "kept"]
    reasons = " ".join(each.reason for each in done)
    assert "it is of shipping:live" in reasons
    assert "not JSON" in reasons
    assert [function for function, _ in account.invoked] == ["billing"]
    assert account.waiting() == 2


def test_a_message_stays_hidden_while_its_records_run(account: Account) -> None:
    hidden: list[int] = []
    account.sqs.meta.events.register(
        "before-call.sqs.ChangeMessageVisibility",
        lambda params, **_: hidden.append(json.loads(params["body"])["VisibilityTimeout"]),
    )
    account.sqs.send_message(QueueUrl=account.url, MessageBody=account.message("billing", 1, 2))
    run(account, queue(account))
    assert hidden == [30 + HIDDEN_S, 30 + HIDDEN_S]


def test_a_buckets_objects_are_taken_in_order_below_the_prefix(account: Account) -> None:
    for name, position in (("a/2", 2), ("a/1", 1), ("b/3", 3)):
        account.s3.put_object(Bucket="failed", Key=name, Body=account.message("billing", position))
    source = BucketMessages(account.s3, "failed", "a/")
    assert source.count() == 2
    assert [each.fate for each in run(account, source)] == [Fate.DONE, Fate.DONE]
    positions = [entry(position)["kinesis"]["sequenceNumber"] for position in (1, 2)]
    assert [number for _, number in account.invoked] == positions
    left = account.s3.list_objects_v2(Bucket="failed")["Contents"]
    assert [each["Key"] for each in left] == ["b/3"]


def test_a_queue_is_named_by_name_arn_or_url(account: Account) -> None:
    arn = "arn:aws:sqs:eu-west-1:123456789012:failed"
    assert [queue_url(account.sqs, each) for each in ("failed", arn, account.url)] == (
        [account.url] * 3
    )


def test_a_bucket_is_named_by_its_url() -> None:
    assert bucket_and_prefix("s3://failed/aws/lambda") == ("failed", "aws/lambda")
    assert bucket_and_prefix("s3://failed") == ("failed", "")
    for wrong in ("failed", "https://failed/x", "s3:///x"):
        with pytest.raises(OperationError, match="is not s3://BUCKET"):
            bucket_and_prefix(wrong)


def test_a_kept_message_that_came_back_by_itself_ends_no_run(account: Account) -> None:
    """After a run that took longer than it was hidden for; the service calls that an error."""
    account.failing = True
    account.sqs.send_message(QueueUrl=account.url, MessageBody=account.message("billing", 1))
    source = queue(account)
    source.give_back(Letter("back", "", "its receipt is no longer good"))
    assert [each.fate for each in run(account, source)] == [Fate.KEPT]
    assert account.waiting() == 1


def test_a_kept_message_that_comes_back_during_the_run_does_not_end_it(account: Account) -> None:
    source = queue(account)
    letters = source.letters()
    account.sqs.send_message(QueueUrl=account.url, MessageBody="kept")
    kept = next(letters)
    source.give_back(kept)
    account.sqs.change_message_visibility(
        QueueUrl=account.url, ReceiptHandle=kept.receipt, VisibilityTimeout=0
    )
    account.sqs.send_message(QueueUrl=account.url, MessageBody="behind it")
    assert [each.text for each in letters] == ["behind it"]
    assert account.waiting() == 1  # the kept one, for others; nobody deleted the other one
