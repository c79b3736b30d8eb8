"""Blocking calls in daemon threads, so that none of them can hold up the process's end."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class DaemonPool:
    """Up to ``most`` threads, started as they are needed and kept.

    Unlike the loop's executor it is never joined: asyncio waits for the default executor's
    threads at its end, and a read that is blocked in a socket would hold that up.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs ``call`` in a thread. If the waiting task is cancelled the call goes on, and its
        result is dropped."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._put((loop, future, lambda: call(*args, **kwargs)))
        return await future

    def close(self) -> None:
        """Ends the threads that are idle, and the others once their call returns."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)
            self._threads = 0

    def _put(self, job: _Job) -> None:
        with self._lock:
            self._busy += 1
            if self._busy > self._threads and self._threads < self._most:
                self._threads += 1
                name = f"{self._name}-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._do(*job)
            del job  # or a thread that waits would keep its last answer alive

    def _do(
        self,
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
        call: Callable[[], Any],
    ) -> None:
        result, error = None, None
        if not future.cancelled():  # nobody waits any more
            try:
                result = call()
            except BaseException as raised:  # it belongs to whoever waits
                error = raised
        with self._lock:
            self._busy -= 1
        # The loop may have ended meanwhile: then nobody waits either.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, future, result, error)


def _tell(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
