from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.flows.consumer.consumer_process import ConsumerProcess
from tests.flows.consumer.local_services import LocalServices, local_services

StartConsumer = Callable[..., ConsumerProcess]


@pytest.fixture(scope="session")
def services() -> Iterator[LocalServices]:
    with local_services() as found:
        yield found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartConsumer]:
    """Starts ``shardlane consume`` with ``ConsumerProcess``'s arguments; what is left running at
    the end of the test is killed."""
    with ExitStack() as closing:

        def run(
            name: str, services: LocalServices, stream: str, *arguments: str, **options: Any
        ) -> ConsumerProcess:
            variables = {**services.variables, **options.pop("variables", {})}
            process = ConsumerProcess(name, tmp_path, variables, stream, *arguments, **options)
            closing.callback(process.kill)
            return process

        yield run
