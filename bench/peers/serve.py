"""A local Kinesis as a process of its own: ``python -m bench.peers.serve [--unlimited]`` says its
port in one line and runs until its input is closed."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
import threading

from shardlane_lab.local_kinesis.http import FRAME_GAP_MS, KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.serve import system_wall_ms


async def serve(limits: Limits, frame_gap_ms: float) -> None:
    gc.set_threshold(100_000, 50, 100)  # as ``shardlane-lab kinesis`` does
    server = KinesisServer(Kinesis(limits=limits), system_wall_ms, frame_gap_ms=frame_gap_ms)
    port = await server.start(0)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--unlimited", action="store_true")
    parser.add_argument("--frame-gap-ms", type=float, default=FRAME_GAP_MS)
    given = parser.parse_args()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limits = Limits.unlimited() if given.unlimited else Limits()
    asyncio.run(serve(limits, given.frame_gap_ms))


if __name__ == "__main__":
    main()
