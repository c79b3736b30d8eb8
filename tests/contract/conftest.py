"""``service``: the local Kinesis through unmodified boto3 and in virtual time, every test twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shardlane_lab.local_kinesis.model import Kinesis
from tests.contract.in_virtual_time import ServiceInVirtualTime
from tests.contract.service import Service
from tests.contract.through_boto3 import LoopThread, ServiceThroughBoto3

MakeService = Callable[..., Service]


@pytest.fixture(scope="session")
def threads() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.stop()


@pytest.fixture(params=["boto3", "virtual"])
def make_service(request: pytest.FixtureRequest, threads: LoopThread) -> Iterator[MakeService]:
    """Makes a service with options of the model (limits, delays, faults, observer)."""
    with ExitStack() as closing:

        def make(**options: Any) -> Service:
            model = Kinesis(**options)
            service: Service
            if request.param == "boto3":
                service = ServiceThroughBoto3(model, threads)
            else:
                service = ServiceInVirtualTime(model)
            closing.callback(service.close)
            return service

        yield make


@pytest.fixture
def service(make_service: MakeService) -> Service:
    return make_service()
