"""Tries the parked keys of one consumer again, on a schedule.

Each record goes to the consumer function itself, in order, until one fails or the key's lot is
empty; then the quarantine is lifted. How long a key rests between two attempts grows with them.
"""

from __future__ import annotations

import os
from typing import Any

from aws_lambda_powertools import Logger

from shardlane import SettingsError
from shardlane.batch_metrics import COUNT, SECONDS, embedded, print_line
from shardlane.clock import SystemClock
from shardlane.operations.redrive_settings import RedriveSettings
from shardlane.operations.scheduled_redrive import RedriveRun, redrive_due, while_time
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.lambda_send import ANSWER_WAIT_S, LambdaSend
from shardlane.parking.redrive import Redriver

STORE_TIME_S = 5
"""For the calls of the table around the last invocation."""

settings = RedriveSettings.from_environ(os.environ)
logger = Logger(location=None)
clock = SystemClock()
store = DynamoDBParkingStore(settings.parking_table, settings.parking_bucket)
send = LambdaSend(settings.consumer_function, timeout_s=settings.consumer_timeout_s)
NEEDED_MS = (settings.consumer_timeout_s + ANSWER_WAIT_S + STORE_TIME_S) * 1000


@logger.inject_lambda_context
def lambda_handler(event: Any, context: Any) -> dict[str, int]:
    """``event`` is not read: EventBridge says only that it is time."""

    def has_time() -> bool:
        return bool(context.get_remaining_time_in_millis() >= NEEDED_MS)

    if not has_time():
        raise SettingsError(
            f"an attempt may take {NEEDED_MS / 1000:.0f} s, which this function does not have: "
            "give it a longer time-out"
        )
    redriver = Redriver(
        store,
        settings.parking_consumer,
        while_time(send, has_time),
        timeout_ms=settings.consumer_timeout_s * 1000,
        clock=clock,
    )
    run = redrive_due(
        store,
        settings.parking_consumer,
        redriver,
        settings.schedule,
        now_ms=clock.wall_ms(),
        has_time=has_time,
    )
    publish(run)
    return counts(run)


def counts(run: RedriveRun) -> dict[str, int]:
    return {
        "parked_keys": run.parked_keys,
        "due": run.due,
        "lifted": run.lifted,
        "handled": run.handled,
        "left": run.left,
    }


def publish(run: RedriveRun) -> None:
    """Log lines and metric values on standard output, where Lambda picks them up."""
    for each in run.tried:
        fields = {"key_hash": each.key_hash, "end": each.end, "handled": each.handled}
        logger.info("redrive: %s", each.end, extra={"redrive": fields | {"reason": each.reason}})
    logger.info("redrive run", extra={"redrive_run": counts(run)})
    # Under the names and dimension of the processor's own: the alarms on parked keys see this too,
    # and so hear of them while no record comes.
    oldest_s = (clock.wall_ms() - run.oldest_ms) / 1000 if run.oldest_ms is not None else 0.0
    values: dict[str, tuple[float, str]] = {
        "ParkedKeys": (run.parked_keys - run.lifted, COUNT),
        "OldestParkedKeyAge": (oldest_s, SECONDS),
        "RedrivenRecords": (run.handled, COUNT),
        "LiftedKeys": (run.lifted, COUNT),
    }
    print_line(embedded(settings.parking_consumer, values, clock.wall_ms()))
