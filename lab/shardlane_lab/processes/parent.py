"""The run's side: starts a process of the lab and turns its lines into events."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from shardlane_lab.errors import ProcessError

OnEvent = Callable[[dict[str, Any]], None]
LINE_LIMIT_BYTES = 16 * 1024 * 1024

_DROPPED = ("AWS_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
"""Start of the variables a child must not inherit: the user's credentials, profile and endpoints
would lead it to a real account, and a proxy would stand between it and loopback."""


def local_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that may reach the local services only; ``variables`` say
    where they are (``LocalStack.variables``)."""
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().startswith(_DROPPED)
    }
    return {
        **kept,
        **variables,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class Process:
    """``python -m shardlane_lab.processes.MODULE`` with its events.

    ``ready`` and ``finished`` are set by the events of those names, ``finished`` also by the end
    of the process.
    """

    def __init__(self, module: str, settings: Mapping[str, Any], on_event: OnEvent) -> None:
        self._module = module
        self._settings = settings
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._last_lines: deque[str] = deque(maxlen=20)
        self.ready = asyncio.Event()
        self.finished = asyncio.Event()

    @property
    def name(self) -> str:
        return str(self._settings.get("label", self._module))

    async def start(self, environment: Mapping[str, str]) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"shardlane_lab.processes.{self._module}",
            json.dumps(self._settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            limit=LINE_LIMIT_BYTES,
            # Ctrl-C at the terminal goes to the run alone, which then ends its children in order.
            start_new_session=True,
        )
        self._readers = [
            asyncio.create_task(self._read_events()),
            asyncio.create_task(self._read_errors()),
        ]

    async def wait_ready(self, timeout_s: float) -> None:
        """Raises ``ProcessError`` if the process ends first or is not ready in time."""
        ended = asyncio.create_task(self.finished.wait())
        ready = asyncio.create_task(self.ready.wait())
        try:
            await asyncio.wait(
                (ended, ready), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ended.cancel()
            ready.cancel()
        if not self.ready.is_set():
            raise ProcessError(self.failure(f"was not ready within {timeout_s:.0f} s"))

    def failure(self, what: str) -> str:
        status = self._process.returncode if self._process else None
        said = "\n  ".join(self._last_lines) or "(nothing)"
        return f"{self.name} {what} (exit status {status}); its last words:\n  {said}"

    @property
    def died(self) -> bool:
        """It ended by itself with an error."""
        return self._process is not None and self._process.returncode not in (None, 0)

    async def stop(self) -> None:
        """Ends the process: its stdin closes, then, if it lingers, it is killed."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(2):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _read_events(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            event = json.loads(line)
            if event["event"] == "ready":
                self.ready.set()
            elif event["event"] == "finished":
                self.finished.set()
            else:
                self._on_event(event)
        await self._process.wait()
        self.finished.set()

    async def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._last_lines.append(line.decode(errors="replace").rstrip())
