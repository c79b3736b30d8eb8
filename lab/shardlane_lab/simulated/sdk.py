"""Calls as an SDK client makes them: refused ones again, by botocore's standard retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.simulator.retry import RetryingClient, RetryRules

RETRIED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "InternalFailureException",
    }
)
"""What botocore tries again: throttles and failures of the service."""


class SdkClient:
    """One boto3 client with the quota of its retries."""

    def __init__(self, kinesis: InProcessKinesis, rules: RetryRules, random: Random) -> None:
        self.kinesis = kinesis
        self._retries = RetryingClient(rules, random.random)

    async def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ``ServiceError`` for what the retries did not cure, or must not be retried."""
        while True:
            try:
                answer = await self.kinesis.call(operation, request)
            except ServiceError as error:
                await self._pause(error)
            else:
                self._retries.succeeded()
                return answer

    async def subscribe(self, request: Mapping[str, Any]) -> Any:
        """The events of a new subscription; raises the same."""
        while True:
            try:
                events = self.kinesis.subscribe(request)
            except ServiceError as error:
                await self._pause(error)
            else:
                self._retries.succeeded()
                return events

    async def _pause(self, error: ServiceError) -> None:
        if error.code not in RETRIED:
            raise error
        pause_ms = self._retries.refused()
        if pause_ms is None:
            raise error
        await asyncio.sleep(pause_ms / 1000)
