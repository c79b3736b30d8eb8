"""One function, one event: what ``shardlane-lab invoke`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_lambda.function import LocalFunction, OnLog
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.template_values import Template


async def invoke_once(
    template: Template,
    function_name: str,
    event: Mapping[str, Any],
    *,
    on_log: OnLog | None = None,
    endpoints: Mapping[str, str] | None = None,
) -> InvokeResult:
    """A cold start, one invocation, and the end of the sandbox; ``log_lines`` has what it wrote.

    Raises ``UnknownFunction``, which lists the names that there are, and ``InvocationRefused``
    for an event over 6 MB.
    """
    function = LocalFunction(template.function(function_name), on_log=on_log, endpoints=endpoints)
    try:
        return await function.invoke(event)
    finally:
        await function.stop()
