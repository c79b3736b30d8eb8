"""One request on its way through the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shardlane_lab.local_kinesis.account import Account
from shardlane_lab.local_kinesis.caller import Caller


@dataclass(frozen=True, slots=True)
class Call:
    account: Account
    operation: str
    request: dict[str, Any]
    """Checked: see ``shape.checked``."""
    now_ms: float
    caller: Caller = Caller.API
    took_ms: float = 0.0
    """What the client waits for the answer; the latency metrics say it."""
