"""``shardlane consume`` in a process of its own, watched from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shardlane_lab.processes.parent import local_environment

PATIENCE_S = 60.0
"""For what happens at once on an idle machine."""


@dataclass(frozen=True, slots=True)
class Handled:
    """A handler call."""

    by: str
    data: str
    key: str
    shard_id: str
    at_s: float
    """On the machine's monotonic clock, which all processes share."""


@dataclass(frozen=True, slots=True)
class Exit:
    status: int
    within_s: float
    """From the signal to the end, seen from outside."""
    said: str
    """Its standard error."""


class ConsumerProcess:
    """Runs from its making to ``stop`` or ``kill``."""

    def __init__(
        self,
        name: str,
        folder: Path,
        variables: Mapping[str, str],
        stream: str,
        *arguments: str,
        handler: str = "note",
        log_level: str = "info",
    ) -> None:
        self.name = name
        self._file = folder / f"{name}.handled"
        self._errors = folder / f"{name}.err"
        self._out = folder / f"{name}.out"
        command = [sys.executable, "-m", "shardlane.cli.main", "consume", stream]
        command += ["--handler", f"tests.flows.consumer.handlers:{handler}"]
        command += ["--log-level", log_level, *arguments]
        environment = local_environment({**variables, "HANDLED_FILE": str(self._file)})
        with self._errors.open("w") as errors, self._out.open("w") as out:
            self._process = subprocess.Popen(command, env=environment, stdout=out, stderr=errors)

    @property
    def handled(self) -> list[Handled]:
        if not self._file.exists():
            return []
        found = []
        for line in self._file.read_text().splitlines():
            data, key, shard_id, ns = line.split(" ")
            found.append(Handled(self.name, data, key, shard_id, int(ns) / 1e9))
        return found

    @property
    def said(self) -> str:
        return self._errors.read_text()

    @property
    def printed(self) -> str:
        return self._out.read_text()

    def is_worker(self, owner: str) -> bool:
        """Whether a lease's owner is this process."""
        return owner.split("/")[2] == str(self._process.pid)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Exit:
        self._process.send_signal(number)
        return self.ended()

    def ended(self) -> Exit:
        began_s = time.monotonic()
        status = self._process.wait(PATIENCE_S)
        return Exit(status, time.monotonic() - began_s, self.said)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def until(self, condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        """Waits for it; fails with what the process has said."""
        until_s = time.monotonic() + within_s
        while not condition():
            assert self._process.poll() is None, f"{self.name} has ended: {self.said}"
            assert time.monotonic() < until_s, f"{self.name}: no {what}; it said: {self.said}"
            time.sleep(0.05)

    def until_handled(self, count: int, within_s: float = PATIENCE_S) -> None:
        self.until(lambda: len(self.handled) >= count, f"{count} records", within_s)


def first_handlings(handled: Iterable[Handled]) -> dict[str, list[int]]:
    """The numbers of each key in the order in which they were handled first."""
    seen: set[str] = set()
    found: dict[str, list[int]] = defaultdict(list)
    for each in sorted(handled, key=lambda each: each.at_s):
        if each.data not in seen:
            seen.add(each.data)
            found[each.key].append(int(each.data))
    return found
