"""Where on-failure messages wait: a queue, or the objects of a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from shardlane.operations.errors import OperationError

HIDDEN_S = 60
"""A queue hides a message from others for this long beyond the function's time-out; moved on
before each record that is sent."""
WAIT_S = 2
LONGEST_HIDDEN_S = 43_200


@dataclass(frozen=True, slots=True)
class Letter:
    """A stored message: ``id`` names it for a person and in a journal, ``receipt`` for its
    source."""

    id: str
    text: str
    receipt: str


class MessageSource(Protocol):
    def count(self) -> int:
        """How many wait, about. Changes nothing."""

    def letters(self) -> Iterator[Letter]:
        """Each once. At its end, those that were given back are there for others again."""

    def hold(self, letter: Letter) -> None:
        """Keeps it from others while its next record runs."""

    def delete(self, letter: Letter) -> None: ...

    def give_back(self, letter: Letter) -> None:
        """Leaves it for others, and for the next run."""


class QueueMessages:
    """Of an SQS queue."""

    def __init__(self, sqs: Any, url: str, timeout_s: float) -> None:
        """``timeout_s``: the longest that one record may run."""
        self._sqs = sqs
        self._url = url
        self._hidden_s = min(LONGEST_HIDDEN_S, round(timeout_s) + HIDDEN_S)
        self._given_back: list[Letter] = []

    def count(self) -> int:
        wanted = "ApproximateNumberOfMessages"
        answer = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=[wanted])
        return int(answer["Attributes"][wanted])

    def letters(self) -> Iterator[Letter]:
        try:
            yield from self._received()
        finally:
            # Not earlier: one that is given back at once is received again at once.
            for letter in self._given_back:
                with suppress(self._sqs.exceptions.ClientError):  # it is there already
                    self._hide(letter, 0)

    def _received(self) -> Iterator[Letter]:
        seen: set[str] = set()
        while True:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=1,
                VisibilityTimeout=self._hidden_s,
                WaitTimeSeconds=WAIT_S,
            )
            messages = answer.get("Messages", [])
            if not messages:
                return
            for each in messages:
                letter = Letter(each["MessageId"], each["Body"], each["ReceiptHandle"])
                if letter.id in seen:
                    self._came_back(letter)
                    continue
                seen.add(letter.id)
                yield letter

    def _came_back(self, letter: Letter) -> None:
        """A run took longer than what it left was hidden for; receiving it has hidden it again,
        and there may be others behind it."""
        mine = [each.id for each in self._given_back]
        if letter.id in mine:
            self._given_back[mine.index(letter.id)] = letter  # its newest receipt is the good one

    def hold(self, letter: Letter) -> None:
        self._hide(letter, self._hidden_s)

    def delete(self, letter: Letter) -> None:
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=letter.receipt)

    def give_back(self, letter: Letter) -> None:
        self._given_back.append(letter)

    def _hide(self, letter: Letter, seconds: int) -> None:
        self._sqs.change_message_visibility(
            QueueUrl=self._url, ReceiptHandle=letter.receipt, VisibilityTimeout=seconds
        )


class BucketMessages:
    """Objects of an S3 bucket below a prefix. Their keys carry the time, so they come in order."""

    def __init__(self, s3: Any, bucket: str, prefix: str) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._prefix = prefix

    def count(self) -> int:
        return sum(1 for _ in self._keys())

    def letters(self) -> Iterator[Letter]:
        for key in list(self._keys()):
            answer = self._s3.get_object(Bucket=self._bucket, Key=key)
            with closing(answer["Body"]) as body:
                text = body.read().decode("utf-8", "replace")
            yield Letter(f"s3://{self._bucket}/{key}", text, key)

    def hold(self, letter: Letter) -> None:
        """Nothing hides an object."""

    def delete(self, letter: Letter) -> None:
        self._s3.delete_object(Bucket=self._bucket, Key=letter.receipt)

    def give_back(self, letter: Letter) -> None:
        """It is where it was."""

    def _keys(self) -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix):
            for each in page.get("Contents", []):
                yield each["Key"]


def queue_url(sqs: Any, queue: str) -> str:
    """Of a queue by URL, ARN or name."""
    if queue.startswith(("http://", "https://")):
        return queue
    if queue.startswith("arn:"):
        account, name = queue.split(":")[4:6]
        found = sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)
    else:
        found = sqs.get_queue_url(QueueName=queue)
    return str(found["QueueUrl"])


def bucket_and_prefix(url: str) -> tuple[str, str]:
    """From ``s3://BUCKET/PREFIX``. Raises ``OperationError``."""
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc:
        raise OperationError(f"{url!r} is not s3://BUCKET or s3://BUCKET/PREFIX")
    return parts.netloc, parts.path.lstrip("/")
