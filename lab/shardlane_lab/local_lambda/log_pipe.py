"""The output of a sandbox as whole lines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

MAX_LINE_BYTES = 1024 * 1024
"""Of a log event (CloudWatch Logs quotas); a longer line is cut there."""


class LineSplitter:
    """Bytes in, lines out; what has no end yet is kept for the next bytes."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) >= MAX_LINE_BYTES:
            lines.append(self._rest[:MAX_LINE_BYTES])
            self._rest = self._rest[MAX_LINE_BYTES:]
        return [_text(line) for line in lines]

    def flush(self) -> list[str]:
        """The last line, when no newline will come any more."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    # The runtime joins the lines of a traceback with carriage returns to keep it one event.
    return line.decode(errors="replace").replace("\r", "\n")


class LogPipe:
    """A pipe whose write end a process holds.

    The running loop reads it as data comes; ``drain`` reads at once what is there, so that
    everything a handler wrote before it answered belongs to its invocation.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._splitter = LineSplitter()
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        self._write_open = True
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_fd, self.drain)

    def close_write_end(self) -> None:
        """In this process; the child has its own."""
        if self._write_open:
            os.close(self.write_fd)
            self._write_open = False

    def drain(self) -> None:
        while True:
            try:
                data = os.read(self._read_fd, 65_536)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._read_fd)
                return
            for line in self._splitter.feed(data):
                self._on_line(line)

    def close(self) -> None:
        self.close_write_end()
        self.drain()
        for line in self._splitter.flush():
            self._on_line(line)
        self._loop.remove_reader(self._read_fd)
        os.close(self._read_fd)
