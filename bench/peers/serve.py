"""A local Kinesis as a process of its own: ``python -m bench.peers.serve [--unlimited]`` says its
port in one line and runs until its input is closed."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.serve import serve


def _say(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    limits = Limits.unlimited() if "--unlimited" in sys.argv[1:] else Limits()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(serve(0, limits=limits, ready=_say))


if __name__ == "__main__":
    main()
