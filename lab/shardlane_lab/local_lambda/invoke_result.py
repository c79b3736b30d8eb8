"""What one synchronous invocation came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokeResult:
    """The answer of the ``Invoke`` operation (Lambda API reference), parsed."""

    payload: Any = None
    """What the handler returned; ``None`` also when it failed."""
    error: Mapping[str, Any] | None = None
    """``errorType``, ``errorMessage`` and, where the handler raised, ``stackTrace``."""
    function_error: Literal["Handled", "Unhandled"] | None = None
    """The header ``X-Amz-Function-Error``; ``None`` is success."""
    duration_ms: float = 0.0
    """From handing over the event to the answer; without the cold start."""
    init_duration_ms: float | None = None
    """Of a cold start; ``None`` when the sandbox was warm."""
    max_memory_mb: int | None = None
    """Peak resident memory of the sandbox so far; ``None`` where the system cannot tell."""
    request_id: str = ""
    log_lines: tuple[str, ...] = ()
    """What this invocation wrote, with the service's START, END and REPORT lines."""

    @property
    def failed(self) -> bool:
        return self.function_error is not None


def failure(error_type: str, message: str, **others: Any) -> InvokeResult:
    """A failed invocation; ``others`` are further fields of ``InvokeResult``."""
    return InvokeResult(
        error={"errorType": error_type, "errorMessage": message},
        function_error="Unhandled",
        **others,
    )
