"""A reader as a process that prints a line per record, and when each line came."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.peers.candidates import ROOT
from bench.peers.servers import environment
from bench.peers.usage import cpu_s

_CHUNK = 1 << 20
_ERRORS_SHOWN = 2_000
_LEAST_CPU_S = 0.01
"""The kernel counts in such steps."""


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
            process_group=0,  # not a session: it keeps its share of the processor
        )
        self._chunks: list[tuple[float, bytes]] = []
        self._cpu_at_first_s = self._cpu_s = 0.0
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
            if not self._chunks:
                self._cpu_at_first_s = cpu_s(self._process.pid)
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
        reaped_s = _cpu_of_ended_s()
        try:
            code = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise RuntimeError(
                f"did not end within {patience_s:g} s, after {self._lines} lines: {self.errors()}"
            ) from None
        self._cpu_s = _cpu_of_ended_s() - reaped_s
        self._reading.join()
        if code:
            raise RuntimeError(f"ended with {code} after {self._lines} lines: {self.errors()}")

    def runs_on_for(self, seconds: float) -> None:
        """Raises ``RuntimeError`` if it ends meanwhile."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(seconds)
            raise RuntimeError(f"ended with {code}: {self.errors()}")

    def end_input(self) -> None:
        """Tells a program that reads its input that it is enough."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def lines(self) -> list[str]:
        return b"".join(chunk for _, chunk in self._chunks).decode().splitlines()

    def reading_s(self) -> float:
        """From its first line to its last."""
        return self._chunks[-1][0] - self._chunks[0][0] if self._chunks else 0.0

    def lines_per_s(self) -> float:
        """Lines after the first that were read together, over the time since. Raises
        ``RuntimeError`` if all came at once."""
        if len(self._chunks) < 2:
            raise RuntimeError(f"printed its {self._lines} lines at once: put more records")
        return self._later() / self.reading_s()

    def lines_per_cpu_s(self) -> float:
        """The same over the processor time that it took since, until it ended: what is left to
        compare where other programs want the processors too."""
        return self._later() / max(self._cpu_s - self._cpu_at_first_s, _LEAST_CPU_S)

    def _later(self) -> int:
        return self._lines - self._chunks[0][1].count(b"\n")

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


def _cpu_of_ended_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def running(program: Program) -> Iterator[Program]:
    """Ends it however the block ends."""
    try:
        yield program
    finally:
        program.close()
