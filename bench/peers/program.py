"""A reader as a process that prints a line per record, and when each line came."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.peers.candidates import ROOT
from bench.peers.servers import environment

_CHUNK = 1 << 20
_ERRORS_SHOWN = 2_000


class Program:
    """Starts at once. ``close`` ends it if it has not ended by itself."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._open = contextlib.ExitStack()
        self._errors = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.started_s = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._chunks: list[tuple[float, bytes]] = []
        self._lines = 0
        self._ended = False
        self._more = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def process_id(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), _CHUNK):
            with self._more:
                self._chunks.append((time.perf_counter(), chunk))
                self._lines += chunk.count(b"\n")
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def wait_for_lines(self, count: int, patience_s: float) -> None:
        """Raises ``RuntimeError`` if they do not come."""
        with self._more:
            self._more.wait_for(lambda: self._lines >= count or self._ended, patience_s)
            if self._lines < count:
                raise RuntimeError(f"printed {self._lines} of {count} lines: {self.errors()}")

    def wait(self, patience_s: float) -> None:
        """Until it ends by itself. Raises ``RuntimeError`` if it does not, or with an error."""
        try:
            code = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise RuntimeError(
                f"did not end within {patience_s:g} s, after {self._lines} lines: {self.errors()}"
            ) from None
        self._reading.join()
        if code:
            raise RuntimeError(f"ended with {code} after {self._lines} lines: {self.errors()}")

    def end_input(self) -> None:
        """Tells a program that reads its input that it is enough."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def lines(self) -> list[str]:
        return b"".join(chunk for _, chunk in self._chunks).decode().splitlines()

    def reading_s(self) -> float:
        """From its first line to its last."""
        return self._chunks[-1][0] - self._chunks[0][0] if self._chunks else 0.0

    def first_line_s(self) -> float:
        """From its start to its first line."""
        return self._chunks[0][0] - self.started_s if self._chunks else 0.0

    def errors(self) -> str:
        """The end of what it wrote to its standard error."""
        size = os.fstat(self._errors.fileno()).st_size
        told = os.pread(self._errors.fileno(), _ERRORS_SHOWN, max(0, size - _ERRORS_SHOWN))
        return told.decode(errors="replace").strip() or "and said nothing"

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reading.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._open.close()


@contextlib.contextmanager
def running(program: Program) -> Iterator[Program]:
    """Ends it however the block ends."""
    try:
        yield program
    finally:
        program.close()
