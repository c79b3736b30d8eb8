"""Ending a task that runs beside others."""

from __future__ import annotations

import asyncio
from typing import Any


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancels it and returns once it has ended; what it raises is left to whoever looks."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
