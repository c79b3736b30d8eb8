"""Payloads that are too large for a table item, in S3."""

from __future__ import annotations

import hashlib
from contextlib import closing
from typing import Any

from shardlane.errors import ParkingError
from shardlane.parking.aws_errors import parking_errors
from shardlane.parking.parked import Parked, StoredPayload


class PayloadBucket:
    """Puts a payload before its item, and deletes it after: an item never lacks its payload."""

    def __init__(self, bucket: str, s3: Any) -> None:
        """``s3``: a boto3 client."""
        self._bucket = bucket
        self._s3 = s3

    def put(self, record: Parked, payload: bytes) -> StoredPayload:
        # The random end makes each parking write an object of its own: a redrive that deletes
        # the object of an item that it removed cannot hit a later parking of the same record.
        key = f"shardlane/{record.consumer}/{record.key_hash}/{record.place}-{record.rev}"
        with parking_errors(f"bucket {self._bucket}"):
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=payload)
        return StoredPayload(self._bucket, key, hashlib.sha256(payload).hexdigest())

    def get(self, stored: StoredPayload) -> bytes:
        """Raises ``ParkingError`` if the object is gone or is not what was put."""
        with parking_errors(f"bucket {stored.bucket}"):
            answer = self._s3.get_object(Bucket=stored.bucket, Key=stored.key)
            with closing(answer["Body"]) as body:
                payload: bytes = body.read()
        if hashlib.sha256(payload).hexdigest() != stored.sha256:
            raise ParkingError(f"bucket {stored.bucket}: {stored.key} is not what was parked")
        return payload

    def delete(self, stored: StoredPayload) -> None:
        with parking_errors(f"bucket {stored.bucket}"):
            self._s3.delete_object(Bucket=stored.bucket, Key=stored.key)
