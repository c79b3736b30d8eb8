"""Fixtures of a DynamoDB table in this process, for every suite that wants one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from tests.unit.shardlane.parking.lots import dynamodb_store, wipe


@pytest.fixture(scope="module")
def credentials() -> Iterator[None]:
    """Never anybody's real account."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        yield


@pytest.fixture(scope="module")
def one_dynamodb(credentials: None) -> Iterator[DynamoDBParkingStore]:
    with dynamodb_store() as store:
        yield store


@pytest.fixture
def dynamodb(one_dynamodb: DynamoDBParkingStore) -> Iterator[DynamoDBParkingStore]:
    """A store on an empty table, with an empty bucket."""
    yield one_dynamodb
    wipe(one_dynamodb)
