"""The two readers that share a shard's GetRecords calls, as actors of the kernel.

Both only find out which records each call returns and when; what a function or a loop then does
with them is decided afterwards (``invocation``), because it does not change when the next call
comes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from shardlane_lab.simulator.arrivals import Times
from shardlane_lab.simulator.gate import ReadGate
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.retry import RetryingClient


class Log:
    """What one reader has read of the shard, and each call it made.

    Where no answer can be cut short by a limit, each one has everything that is visible, and the
    counts are found afterwards, all at once. Otherwise they are kept call by call.
    """

    __slots__ = ("_ends", "_limit", "_visible_ms", "answered_ms", "received_ms", "refused_ms")

    def __init__(self, visible_ms: Sequence[float], limit: int | None) -> None:
        """``limit``: records that one answer holds at most; None: no answer is cut short."""
        self._visible_ms = visible_ms
        self._limit = limit
        self._ends = [0]
        self.answered_ms: list[float] = []
        self.received_ms: list[float] = []
        """Of each answer."""
        self.refused_ms: list[float] = []

    @property
    def counting(self) -> bool:
        """Whether ``count`` has to be called for each answer."""
        return self._limit is not None

    @property
    def complete(self) -> bool:
        """Whether every record has been read."""
        if not self._visible_ms:
            return True
        if self._limit is None:
            return bool(self.answered_ms) and self.answered_ms[-1] >= self._visible_ms[-1]
        return self._ends[-1] == len(self._visible_ms)

    def count(self, now_ms: float) -> int:
        """How many records the answer at ``now_ms`` has; 0 if nobody needs to know."""
        if self._limit is None:
            return 0
        start = self._ends[-1]
        end = min(bisect_right(self._visible_ms, now_ms, start), start + self._limit)
        self._ends.append(end)
        return end - start

    def behind(self, now_ms: float) -> bool:
        """Whether a record is visible that the last answer left out."""
        if self._limit is None:
            return False
        position = self._ends[-1]
        return position < len(self._visible_ms) and self._visible_ms[position] <= now_ms

    def receipts_ms(self) -> Times:
        """For every record that was read, when it was received."""
        if self._limit is None:
            ends = np.searchsorted(self._visible_ms, np.array(self.answered_ms), side="right")
            counts = np.diff(ends, prepend=0)
        else:
            counts = np.diff(np.array(self._ends))
        return np.repeat(np.array(self.received_ms), counts)


class Poller:
    """A loop on boto3: GetRecords with standard retries, then a pause."""

    __slots__ = (
        "_answered",
        "_bytes",
        "_client",
        "_counting",
        "_gate",
        "_low_ms",
        "_pause_ms",
        "_received",
        "_spread_ms",
        "_take",
        "_uniform",
        "log",
        "surfaced_ms",
    )

    def __init__(
        self,
        log: Log,
        gate: ReadGate,
        parameters: Parameters,
        record_bytes: int,
        interval_ms: float,
        uniform: Callable[[], float],
    ) -> None:
        self.log = log
        self.surfaced_ms: list[float] = []
        self._gate = gate
        self._take = gate.take
        self._answered = log.answered_ms.append
        self._received = log.received_ms.append
        self._counting = log.counting
        self._bytes = record_bytes
        self._pause_ms = interval_ms
        self._uniform = uniform
        self._client = RetryingClient(parameters.retries, uniform)
        # The round trip of a call, half of it before the service decides and half after.
        self._low_ms = parameters.delays.get_records_low_ms / 2.0
        self._spread_ms = parameters.delays.get_records_high_ms / 2.0 - self._low_ms

    @property
    def client(self) -> RetryingClient:
        return self._client

    def act(self, now_ms: float) -> float:
        """A call reaches the service at ``now_ms``."""
        half_ms = self._low_ms + self._spread_ms * self._uniform()
        back_ms = now_ms + half_ms
        if self._take(now_ms):
            self._answered(now_ms)
            self._received(back_ms)
            if self._counting:
                self._gate.answered(now_ms, self.log.count(now_ms) * self._bytes)
            self._client.succeeded()
            return back_ms + self._pause_ms + half_ms
        self.log.refused_ms.append(now_ms)
        pause_ms = self._client.refused()
        if pause_ms is None:
            self.surfaced_ms.append(back_ms)
            pause_ms = self._pause_ms
        return back_ms + pause_ms + half_ms


class StandardPoll:
    """The polls of a standard event source mapping.

    Alone on a shard it counts against the calls and is never refused: the published run shows no
    sign of a refused poll. Several on one shard must share, and then a poll can be refused.
    """

    __slots__ = (
        "_alone",
        "_bytes",
        "_delay_ms",
        "_gate",
        "_polling",
        "_random",
        "_rejected_ms",
        "log",
    )

    def __init__(
        self,
        log: Log,
        gate: ReadGate,
        parameters: Parameters,
        record_bytes: int,
        alone: bool,
        random: Random,
    ) -> None:
        self.log = log
        self._gate = gate
        self._polling = parameters.polling
        self._bytes = record_bytes
        self._alone = alone
        self._random = random
        self._rejected_ms = parameters.rejected_poll_s * 1000.0
        delays = parameters.delays
        self._delay_ms = (delays.get_records_low_ms + delays.get_records_high_ms) / 4.0

    def act(self, now_ms: float) -> float:
        if self._alone:
            self._gate.force(now_ms)
        elif not self._gate.take(now_ms):
            self.log.refused_ms.append(now_ms)
            return now_ms + 1.0 + self._random.random() * self._rejected_ms
        self.log.answered_ms.append(now_ms)
        self.log.received_ms.append(now_ms + self._delay_ms)
        self._gate.answered(now_ms, self.log.count(now_ms) * self._bytes)
        return now_ms + self._polling.next_s(self.log.behind(now_ms), self._random) * 1000.0
