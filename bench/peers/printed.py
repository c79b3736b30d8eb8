"""What every Python reader of the benchmarks does with a record: a line, and a count."""

from __future__ import annotations

import os
import threading
import time

_FLUSH_S = 0.02


class Printed:
    """Prints a line per record, not later than 20 ms after it came, and knows when enough
    different ones were seen. May be called from every thread."""

    def __init__(self, count: int, *, timed: bool = False) -> None:
        """``timed``: each line ends with the time at which the record came (epoch ms)."""
        self._count = count
        self._timed = timed
        self._seen: set[str] = set()
        self._held: list[str] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._flush_for_ever, daemon=True).start()

    def record(self, sequence_number: str, key: str) -> bool:
        """Says whether it is enough."""
        came = f" {time.time() * 1000:.3f}" if self._timed else ""
        with self._lock:
            self._held.append(f"{sequence_number} {key}{came}\n")
            self._seen.add(sequence_number)
            return len(self._seen) >= self._count

    def flush(self) -> None:
        with self._lock:
            data = "".join(self._held).encode()
            self._held.clear()
            while data:
                data = data[os.write(1, data) :]

    def _flush_for_ever(self) -> None:
        while True:
            time.sleep(_FLUSH_S)
            self.flush()
