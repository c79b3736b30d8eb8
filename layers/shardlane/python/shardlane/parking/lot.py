"""The parking lot that a failure policy parks in."""

from __future__ import annotations

import re

from shardlane.errors import SettingsError
from shardlane.parking.store import ParkingStore

_CONSUMER = re.compile(r"[A-Za-z0-9._-]{1,100}")


class ParkingLot:
    """Which table, and whose part of it. Nothing is read before ``open``."""

    def __init__(
        self,
        *,
        consumer: str,
        table: str | None = None,
        bucket: str | None = None,
        max_quarantined: int = 100,
        store: ParkingStore | None = None,
    ) -> None:
        """``consumer`` is one id for each mapping or subscription: two functions that share it
        would quarantine each other's keys. ``bucket`` takes payloads above 350,000 bytes.
        ``max_quarantined``: with that many keys quarantined nothing new is parked, because an
        outage is not poison. ``store`` instead of ``table``: e.g. a ``MemoryParkingStore``.

        Raises ``SettingsError`` naming what is not allowed.
        """
        if not _CONSUMER.fullmatch(consumer):
            raise SettingsError(f"consumer={consumer!r}: allowed is 1 to 100 of A-Z a-z 0-9 . _ -")
        if (table is None) == (store is None):
            raise SettingsError("a ParkingLot needs table= or store=, and not both")
        if max_quarantined < 1:
            raise SettingsError(f"max_quarantined={max_quarantined}: allowed is 1 or more")
        self.consumer = consumer
        self.max_quarantined = max_quarantined
        self._table = table
        self._bucket = bucket
        self._store = store

    def open(self) -> ParkingStore:
        """The store behind the lot, made at the first call."""
        if self._store is None and self._table is not None:
            # Not at the top: boto3 is imported only by a function whose policy parks.
            from shardlane.parking.dynamodb_store import DynamoDBParkingStore

            self._store = DynamoDBParkingStore(self._table, self._bucket)
        assert self._store is not None  # one of the two is given: checked above
        return self._store
