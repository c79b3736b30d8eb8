from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from shardlane_lab.local_aws.services import LocalAws


@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    services = LocalAws("us-east-1")
    with asyncio.Runner() as runner:
        runner.run(services.start())
        yield services
        runner.run(services.stop())
