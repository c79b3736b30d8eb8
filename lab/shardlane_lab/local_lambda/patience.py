"""Calls that wait while the service refuses for a reason that passes by itself."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.ports import Kinesis

PASSING = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "KMSThrottlingException",
        "InternalFailureException",
        "ServiceUnavailable",
    }
)
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0

log = logging.getLogger(__name__)


async def patiently(
    kinesis: Kinesis, rng: random.Random, operation: str, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Backs off with full jitter, also after a broken connection; raises ``ServiceError`` for
    what does not pass."""
    ceiling_s = FIRST_PAUSE_S
    while True:
        try:
            return await kinesis.call(operation, request)
        except ServiceError as error:
            if error.code not in PASSING:
                raise
        except ConnectionError as broken:
            log.debug("%s had no answer: %r", operation, broken)
        await asyncio.sleep(rng.uniform(0.0, ceiling_s))
        ceiling_s = min(LONGEST_PAUSE_S, ceiling_s * 2)
