"""Sends the load through the load function, a short part after the other, so that a run that is
stopped leaves nothing running for long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from shardlane.load import LoadPlan
from shardlane_lab.aws.errors import AwsError, explained
from shardlane_lab.collector import Collector

PART_S = 20.0
AHEAD_S = 2.0
"""A part is invoked so long before its first record is due: a cold start delays nothing."""

Invoke = Callable[[dict[str, Any]], dict[str, Any]]
"""Blocks; raises ``AwsError``."""


def invoking(functions: Any, name: str) -> Invoke:
    """Calls the deployed function."""

    def invoke(event: dict[str, Any]) -> dict[str, Any]:
        with explained(f"the load function {name}"):
            answer = functions.invoke(FunctionName=name, Payload=json.dumps(event).encode())
        payload = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise AwsError(f"the load function {name} failed: {payload.get('errorMessage')}")
        result: dict[str, Any] = payload
        return result

    return invoke


class LoadInRegion:
    def __init__(
        self,
        plan: LoadPlan,
        invoke: Invoke,
        collector: Collector,
        *,
        part_s: float = PART_S,
        ahead_s: float = AHEAD_S,
    ) -> None:
        self._plan = plan
        self._invoke = invoke
        self._collector = collector
        self._part_s = part_s
        self._ahead_s = ahead_s

    async def run(self) -> None:
        """Until all is sent. When cancelled it starts nothing more and waits for what is under
        way, one part at most: a function cannot be stopped from outside."""
        clock = asyncio.get_running_loop().time
        told = await asyncio.to_thread(self._invoke, {"clock": True})
        start_ms = told["now_ms"] + self._ahead_s * 1000
        start_s = clock() + self._ahead_s
        self._collector.event({"event": "started", "start_ms": start_ms})
        parts: list[asyncio.Task[None]] = []
        try:
            from_s = 0.0
            while from_s < self._plan.seconds:
                await asyncio.sleep(max(0.0, start_s + from_s - self._ahead_s - clock()))
                parts.append(asyncio.create_task(self._part(start_ms, from_s)))
                from_s += self._part_s
            await asyncio.gather(*parts)
        finally:
            await asyncio.gather(*parts, return_exceptions=True)

    async def _part(self, start_ms: float, from_s: float) -> None:
        from_ms, until_ms = from_s * 1000, (from_s + self._part_s) * 1000
        event = {
            "load": asdict(self._plan),
            "start_ms": start_ms,
            "from_ms": from_ms,
            "until_ms": until_ms,
        }
        answer = await asyncio.to_thread(self._invoke, event)
        self._collect(answer, from_ms, until_ms)

    def _collect(self, answer: dict[str, Any], from_ms: float, until_ms: float) -> None:
        missing = set(answer["not_sent"])
        put_ms = answer["first_put_ms"]
        for record in self._plan.planned():
            if not from_ms <= record.at_ms < until_ms:
                continue
            if record.seq is None:
                self._collector.event({"event": "poisoned", "key": record.key})
            elif record.seq in missing:
                reason = "the function's puts failed"
                self._collector.event({"event": "not-sent", "seq": record.seq, "reason": reason})
            else:
                self._collector.event({"event": "sent", "seq": record.seq, "put_ms": put_ms})
        for _ in range(answer["resends"]):
            self._collector.event({"event": "resend"})
