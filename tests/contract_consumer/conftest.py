"""moto's DynamoDB in this process, for every test here that wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.contract_consumer.lease_tables import LeaseTables


@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.fixture(scope="module")
def tables(aws: None) -> Iterator[LeaseTables]:
    found = LeaseTables()
    yield found
    asyncio.run(found.close())
