"""What a subscription counts while it runs. Plain numbers; see ``stats`` for what they mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Since the start of the run."""

    handled: int = 0
    dropped: int = 0
    parked: int = 0
    redriven: int = 0
    """Parked records that were handled after all, by this process; not among ``handled``."""
    retries: int = 0
    failures: int = 0
    """Failed handler calls, those that were tried again among them."""
    reads: int = 0
    """Answers: of GetRecords, or events of a subscription."""
    records_read: int = 0
    bytes_read: int = 0
    throttles: int = 0
    read_errors: int = 0
    """Reads without a usable answer, throttles not among them."""
    subscribes: int = 0
    leases_taken: int = 0
    leases_lost: int = 0
    leases_handed_over: int = 0
    checkpoints: int = 0
    shards_ended: int = 0
    gaps: int = 0
    """Times that a checkpoint was older than what retention had left."""
