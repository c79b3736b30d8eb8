"""The lines that the service itself writes into a function's log (source: "Lambda log formats",
Developer Guide; plain text format)."""

from __future__ import annotations

import math

from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.invoke_result import InvokeResult


def start_line(request_id: str) -> str:
    return f"START RequestId: {request_id} Version: $LATEST"


def end_line(request_id: str) -> str:
    return f"END RequestId: {request_id}"


def report_line(config: FunctionConfig, result: InvokeResult) -> str:
    """Without "Max Memory Used" where the system cannot tell it."""
    parts = [
        f"REPORT RequestId: {result.request_id}",
        f"Duration: {result.duration_ms:.2f} ms",
        f"Billed Duration: {math.ceil(result.duration_ms)} ms",
        f"Memory Size: {config.memory_mb} MB",
    ]
    if result.max_memory_mb is not None:
        parts.append(f"Max Memory Used: {result.max_memory_mb} MB")
    if result.init_duration_ms is not None:
        parts.append(f"Init Duration: {result.init_duration_ms:.2f} ms")
    return "\t".join(parts)
