"""One execution environment: a process with the runtime client, its Runtime API and its logs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.log_pipe import LogPipe
from shardlane_lab.local_lambda.runtime_api import Invocation, Raised, Returned, RuntimeApi
from shardlane_lab.local_lambda.runtime_child import MEMORY_QUESTION
from shardlane_lab.local_lambda.sandbox_environment import sandbox_environment

INIT_LIMIT_S = 10.0
"""How long the service lets the code outside of the handler run (Lambda quotas)."""
MEMORY_ANSWER_LIMIT_S = 0.25


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The handler did not answer in time; the sandbox is dead."""


@dataclass(frozen=True, slots=True)
class Exited:
    """The process ended: ``reason`` is in the service's words."""

    reason: str


T = TypeVar("T")
Outcome = Returned | Raised | TimedOut | Exited


class Sandbox:
    """Runs one invocation at a time. After ``TimedOut`` or ``Exited`` only ``stop`` is left."""

    def __init__(
        self,
        config: FunctionConfig,
        endpoints: Mapping[str, str],
        log_stream: str,
        on_line: Callable[[str], None],
    ) -> None:
        self._config = config
        self._endpoints = endpoints
        self._log_stream = log_stream
        self._on_line = on_line
        self._api = RuntimeApi()
        self._logs: LogPipe | None = None
        self._control: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._killed = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> Raised | TimedOut | Exited | None:
        """Starts the process and waits until it asks for work; anything but ``None`` is why it
        never will."""
        address = await self._api.start()
        self._logs = LogPipe(self._on_line)
        self._control, child_control = socket.socketpair()
        self._control.setblocking(False)
        try:
            self._process = await self._spawn(address, child_control)
        finally:
            child_control.close()
            self._logs.close_write_end()
        limit_s = INIT_LIMIT_S + self._config.timeout_s
        outcome = await self._first_of(self._api.ready, limit_s)
        self._read_logs()
        return outcome

    async def _spawn(self, address: str, control: socket.socket) -> asyncio.subprocess.Process:
        assert self._logs is not None
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "shardlane_lab.local_lambda.runtime_child",
            self._config.handler,
            str(control.fileno()),
            cwd=self._config.code_folder,  # with -m it is the first place to import from
            env=sandbox_environment(self._config, address, self._log_stream, self._endpoints),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=self._logs.write_fd,
            stderr=self._logs.write_fd,
            pass_fds=(control.fileno(),),
            # Ctrl-C at the terminal goes to the lab alone, which ends its sandboxes in order;
            # and the handler's own children can be killed with it.
            start_new_session=True,
        )

    async def invoke(self, invocation: Invocation, timeout_s: float) -> Outcome:
        outcome = await self._first_of(self._api.hand_over(invocation), timeout_s)
        if isinstance(outcome, TimedOut):
            self._kill()
        self._read_logs()
        assert outcome is not None
        return outcome

    async def _first_of(self, answer: asyncio.Future[T], limit_s: float) -> T | TimedOut | Exited:
        assert self._process is not None
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait(
                (answer, ended), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ended.cancel()
        if answer.done():
            return answer.result()
        if self._process.returncode is None:
            return TimedOut()
        return Exited(_exit_reason(self._process.returncode))

    def _read_logs(self) -> None:
        if self._logs is not None:  # it is gone when someone stopped the sandbox meanwhile
            self._logs.drain()

    async def peak_memory_mb(self) -> int | None:
        """Asks the process; ``None`` if it does not answer or cannot tell."""
        if self._control is None or not self.alive:
            return None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(MEMORY_ANSWER_LIMIT_S):
                await loop.sock_sendall(self._control, MEMORY_QUESTION)
                answer = await loop.sock_recv(self._control, 32)
        except (TimeoutError, OSError):
            return None
        kib = int(answer or b"0")
        return -(-kib // 1024) if kib else None

    async def stop(self) -> None:
        """Kills the process and everything it started; may be called twice."""
        self._kill()
        if self._process is not None:
            await self._process.wait()
        await self._api.stop()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._logs is not None:
            self._logs.close()
            self._logs = None

    def _kill(self) -> None:
        if self._process is None or self._killed:
            return
        self._killed = True
        # Also when the process ended by itself: what it started may still run. Its group's
        # number cannot be given to anyone else while a member is left.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _exit_reason(returncode: int) -> str:
    """As the service words it after "Error: "."""
    if returncode < 0:
        name = signal.strsignal(-returncode) or str(-returncode)
        return f"Runtime exited with error: signal: {name.lower()}"
    if returncode == 0:
        return "Runtime exited without providing a reason"
    return f"Runtime exited with error: exit status {returncode}"
