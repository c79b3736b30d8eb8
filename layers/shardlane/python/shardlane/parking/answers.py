"""What a parking store answers to the processor's two transactions, and how large they may be."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

MOST_BEHIND = 50
"""Records in one T2: a transaction has at most 100 writes (TransactWriteItems)."""
MOST_BEHIND_BYTES = 3_000_000
"""Payload bytes in one T2: a transaction has at most 4 MB (TransactWriteItems)."""


class First(Enum):
    """The answer to T1."""

    PARKED = "parked"
    ALREADY_PARKED = "already parked"
    """This very record is in the lot: a replay."""
    GATE_EXISTS = "gate exists"
    """Somebody else quarantined the key: park behind instead."""
    NOT_OWNER = "not owner"
    """The owner check failed: the shard's lease is somebody else's."""


class Behind(NamedTuple):
    """The answer to T2: at most one of these is set, and then nothing was written."""

    already_parked: tuple[int, ...] = ()
    """Indexes of the records that are in the lot: replays."""
    gate_missing: bool = False
    """The quarantine was lifted: handle the records."""
    not_owner: bool = False
