"""Redrives parked records in the process that has their handler: R1 to R6 of ``shardlane.parking``,
with a handler call where Lambda has an invocation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from shardlane.attempt import attempt, attempt_async, is_async
from shardlane.clock import SystemClock
from shardlane.consumer.counters import Counters
from shardlane.consumer.held_record import HeldRecord, held_record
from shardlane.consumer.reading import Place, Reading
from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.event_entry import RawRecord
from shardlane.outcome import Drop
from shardlane.parking.lot import ParkingLot
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import Answer, End, Redriven, Redriver, Sent
from shardlane.policy import reason_of
from shardlane.record import Record

_log = logging.getLogger(__name__)

HandleOne = Callable[[Record], Any]
"""A handler of one record, plain or async."""


class OwnRedrive:
    """Runs on a thread, beside the workers; the hold on its key keeps out every other redrive, and
    the quarantine every worker."""

    def __init__(
        self,
        lot: ParkingLot,
        handler: HandleOne,
        loop: asyncio.AbstractEventLoop,
        is_stopping: Callable[[], bool],
        counters: Counters,
    ) -> None:
        self._lot = lot
        self._handler = handler
        self._is_async = is_async(handler)
        self._loop = loop
        self._is_stopping = is_stopping
        self._counters = counters

    def run(self, keys: frozenset[str] | None, timeout_s: float) -> dict[str, Redriven]:
        """Redrives these keys, or every quarantined one, one after the other; by key, what came
        of it."""
        store = self._lot.open()
        redriver = Redriver(
            store,
            self._lot.consumer,
            lambda entry: self._send(entry, timeout_s),
            timeout_ms=round(timeout_s * 1000),
            clock=SystemClock(),
        )
        found: dict[str, Redriven] = {}
        for key in sorted(keys) if keys is not None else self._quarantined():
            if self._is_stopping():
                break
            found[key] = _redriven(redriver, key)
            _log.info("redrove a key: %s, %d handled", found[key].end.value, found[key].handled)
        return found

    # --- inside -----------------------------------------------------------------------------

    def _quarantined(self) -> list[str]:
        """Longest first."""
        gates = self._lot.open().gates(self._lot.consumer)
        return [gate.key for gate in sorted(gates, key=lambda gate: gate.since_ms)]

    def _send(self, entry: RawRecord, timeout_s: float) -> Sent:
        if self._is_stopping():
            return Sent(Answer.NOT_RUN, "the consumer is stopping")
        record = without_lease(entry)
        error = self._await(record, timeout_s) if self._is_async else attempt(self._handler, record)
        if error is None:
            self._counters.redriven += 1
            return Sent(Answer.HANDLED)
        if isinstance(error, Drop):
            self._counters.dropped += 1
            _log.warning("dropped %s in a redrive: %s", record.sequence_number, error.reason)
            return Sent(Answer.HANDLED)
        return Sent(Answer.FAILED, reason_of(error))

    def _await(self, record: Record, timeout_s: float) -> Exception | None:
        """Runs an async handler on the loop; one that takes too long is cancelled."""
        call = asyncio.run_coroutine_threadsafe(
            asyncio.wait_for(attempt_async(self._handler, record), timeout_s), self._loop
        )
        try:
            return call.result()
        except TimeoutError:
            return TimeoutError(f"the handler took more than {timeout_s:g} s")
        except CancelledError:
            return RuntimeError("the handler was cancelled")


def _redriven(redriver: Redriver, key: str) -> Redriven:
    """What is wrong with one key only (a payload that is gone from its bucket, say) is what came
    of it, and the others go on. Raises ``StoreUnavailable``."""
    try:
        return redriver.redrive(key_hash(key))
    except StoreUnavailable:
        raise
    except ParkingError as error:
        _log.error("a key cannot be redriven: %s", error)
        return Redriven(End.NOT_RUN, 0, reason=str(error))


def without_lease(entry: RawRecord) -> HeldRecord:
    """The record of a redrive, as the handler knows its records. It is under no lease: its fence
    is 0, and it loses none."""
    read = Record.from_event(
        entry, entry["kinesis"]["sequenceNumber"], entry["kinesis"]["partitionKey"]
    )
    place = Place(
        read.sequence_number, read.sub_sequence_number, read.arrival_ms, read.partition_key
    )
    return held_record(Reading(stream=read.stream, shard_id=read.shard_id), place, read.data)
