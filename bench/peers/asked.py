"""What a reader of the benchmarks is told on its command line."""

from __future__ import annotations

import argparse

POLL_S = 0.2
ENOUGH_BYTES_PER_S = 1e12
"""No limit: where the server has none, a reader that kept to 2 MiB/s would be measured waiting."""


def parser(description: str) -> argparse.ArgumentParser:
    """The same arguments for all of them, as the foreign ones have."""
    made = argparse.ArgumentParser(description=description.partition("\n")[0])
    made.add_argument("kinesis", help="endpoint")
    made.add_argument("dynamodb", help="endpoint")
    made.add_argument("stream")
    made.add_argument("count", type=int, help="of different records, after which it ends")
    made.add_argument("mode", choices=("polling", "fan-out"))
    made.add_argument("application", help="its lease table and its registered consumer")
    made.add_argument("--interval", type=float, default=POLL_S, help="seconds between polls")
    made.add_argument("--timed", action="store_true", help="print when each record came")
    return made
