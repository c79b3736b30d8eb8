"""A record on its way to a stream, and what became of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from shardlane.errors import BadRecord

MIB = 1024 * 1024
MOST_KEY_CHARACTERS = 256
"""Of a partition key, Unicode characters (PutRecords, API Reference)."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to send. Without a key it gets a random one, so that such records spread evenly
    over the shards and have no order."""

    data: bytes
    key: str | None = None
    explicit_hash_key: str | None = None
    """Decimal, 0 to 2^128 − 1: chooses the shard instead of the key."""

    def __repr__(self) -> str:
        """Neither data nor key: a traceback must not leak them."""
        return f"Outgoing({len(self.data)} bytes)"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The stream has it."""

    shard_id: str
    sequence_number: str


@dataclass(frozen=True, slots=True)
class Unsent:
    """A record that was given up on. If there was no answer, the stream may have it all the
    same."""

    index: int
    """Its place among the records of the call."""
    attempts: int
    """0 if it was never tried, because an earlier record of its key was given up on."""
    code: str
    """The service's, e.g. ``ProvisionedThroughputExceededException``; or ours, see ``Producer``."""
    message: str


class Entry:
    """One record of a call: checked, with its key, and how often it has failed."""

    __slots__ = ("explicit_hash_key", "failures", "index", "key", "outgoing", "size_bytes")

    def __init__(self, index: int, outgoing: Outgoing, most_bytes: int) -> None:
        """Raises ``BadRecord`` for what no stream takes; it names the place, never data or key."""
        self.index = index
        self.outgoing = outgoing
        self.key = uuid.uuid4().hex if outgoing.key is None else outgoing.key
        self.explicit_hash_key = outgoing.explicit_hash_key
        self.failures = 0
        _check_key(self.key, index)
        _check_hash_key(self.explicit_hash_key, index)
        self.size_bytes = len(outgoing.data) + len(self.key.encode())
        if self.size_bytes > most_bytes:
            raise BadRecord(
                f"record {index}: data and key have {self.size_bytes} bytes; allowed are "
                f"{most_bytes} (max_record_bytes)"
            )

    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = {"Data": self.outgoing.data, "PartitionKey": self.key}
        if self.explicit_hash_key is not None:
            request["ExplicitHashKey"] = self.explicit_hash_key
        return request


def _check_key(key: str, index: int) -> None:
    if not 1 <= len(key) <= MOST_KEY_CHARACTERS:
        raise BadRecord(
            f"record {index}: its partition key has {len(key)} characters; allowed are 1 to "
            f"{MOST_KEY_CHARACTERS}"
        )
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise BadRecord(f"record {index}: its partition key is not Unicode text") from error


def _check_hash_key(hash_key: str | None, index: int) -> None:
    if hash_key is None:
        return
    if not (hash_key.isascii() and hash_key.isdigit() and int(hash_key) < 2**128):
        raise BadRecord(
            f"record {index}: explicit_hash_key={hash_key!r}; allowed are the decimal digits of "
            "0 to 2^128 − 1"
        )
