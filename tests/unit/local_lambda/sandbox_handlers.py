"""Runs handlers in real sandboxes, from source written by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from shardlane_lab.local_lambda.function import LocalFunction
from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.metric import Observer

T = TypeVar("T")


class SandboxedHandler:
    """Each use has a function of its own, stopped at the end; ``lines`` is what it logged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "code"
        self.folder.mkdir()
        self.lines: list[str] = []
        self._news = asyncio.Event()
        self.observer: Observer | None = None
        self.endpoints: dict[str, str] = {}
        self.options: dict[str, Any] = {"timeout_s": 20.0}

    def write(self, source: str, name: str = "app.py") -> None:
        (self.folder / name).write_text(source, encoding="utf-8")

    def use(self, work: Callable[[LocalFunction], Awaitable[T]]) -> T:
        """What ``work`` makes of the function."""

        async def main() -> T:
            options = {"name": "orders", "handler": "app.handler"} | self.options
            watch = options.pop("watch", False)
            function = LocalFunction(
                FunctionConfig(code_folder=self.folder, **options),
                on_log=self._log,
                observer=self.observer,
                endpoints=self.endpoints,
                watch=watch,
            )
            try:
                return await work(function)
            finally:
                await function.stop()

        return asyncio.run(main())

    async def wait_for(self, line: str) -> None:
        """Until the handler has written ``line``."""
        while line not in self.lines:
            self._news.clear()
            await self._news.wait()

    def _log(self, _name: str, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    def invoke(self, *events: dict[str, Any]) -> list[InvokeResult]:
        """The results of one event after the other."""

        async def work(function: LocalFunction) -> list[InvokeResult]:
            return [await function.invoke(event) for event in events]

        return self.use(work)
