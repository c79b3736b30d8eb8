"""What a subscription takes from the machine that it runs on; a simulation brings its own."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from shardlane.consumer.lease import OWNER_PREFIX


def new_owner() -> str:
    """A name that no other run has or had, and that says where to look."""
    return f"{OWNER_PREFIX}{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"


def _wall_ms() -> float:
    return time.time() * 1000.0


@dataclass(frozen=True, slots=True)
class Machine:
    """Monotonic time is the event loop's own."""

    owner: Callable[[], str] = new_owner
    """Names the holder of leases, anew for each run."""
    wall_ms: Callable[[], float] = _wall_ms
    """Epoch milliseconds; only for saying how old a record is, never for leases."""
    random: Random = field(default_factory=Random)
    has_threads: bool = True
    """False in virtual time: plain handlers block the loop there."""
