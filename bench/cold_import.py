"""What a function's handler module costs to import when its sandbox starts, beside one that uses
Powertools' ``BatchProcessor``; and how large the layer is.

    python -m bench.cold_import

Every import is a process of its own, in turns, with the modules compiled already as in a layer
that was published with them; the median of the processor time counts. The exit status is 1 if the
target is missed.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
LAYER = ROOT / "layers" / "shardlane" / "python"
MOST_RATIO = 1.15

OURS = """
from aws_lambda_powertools.utilities.batch import process_partial_response
from shardlane import KeyedBatchProcessor, Record

processor = KeyedBatchProcessor(workers=16)


def record_handler(record: Record) -> None:
    record.json()


def lambda_handler(event, context):
    return process_partial_response(
        event=event, record_handler=record_handler, processor=processor, context=context
    )
"""
POWERTOOLS = """
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import KinesisStreamRecord

processor = BatchProcessor(event_type=EventType.KinesisDataStreams)


def record_handler(record: KinesisStreamRecord) -> None:
    record.kinesis.data_as_json()


def lambda_handler(event, context):
    return process_partial_response(
        event=event, record_handler=record_handler, processor=processor, context=context
    )
"""
_CHILD = """
import sys, time
sys.path.insert(0, {folder!r})
began_s = time.process_time()
import handler
print(time.process_time() - began_s)
"""


def import_s(folder: Path) -> float:
    """Processor seconds to import ``folder``'s ``handler`` in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(folder=str(folder))],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def medians_s(sources: Sequence[str], rounds: int) -> list[float]:
    """Of each handler module, imported in turns; one round before, which compiles."""
    with tempfile.TemporaryDirectory() as temporary:
        folders = []
        for number, source in enumerate(sources):
            folder = Path(temporary) / str(number)
            folder.mkdir()
            (folder / "handler.py").write_text(source, encoding="utf-8")
            folders.append(folder)
        taken: list[list[float]] = [[] for _ in folders]
        for turn in range(rounds + 1):
            for place, folder in enumerate(folders):
                seconds = import_s(folder)
                if turn:
                    taken[place].append(seconds)
    return [median(each) for each in taken]


def layer_bytes() -> tuple[int, int]:
    """Of the layer's files: zipped, and as they are."""
    packed, size = io.BytesIO(), 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(LAYER.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(LAYER.parent))
                size += path.stat().st_size
    return len(packed.getvalue()), size


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cold_import", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    ours_s, theirs_s = medians_s([OURS, POWERTOOLS], given.rounds)
    met = ours_s <= MOST_RATIO * theirs_s
    print(
        f"import of the handler module: ours {ours_s * 1000:.1f} ms, Powertools' "
        f"{theirs_s * 1000:.1f} ms, ratio {ours_s / theirs_s:.3f}, at most {MOST_RATIO}: "
        f"{'met' if met else 'MISSED'}"
    )
    zipped, size = layer_bytes()
    print(f"the layer: {zipped:,} bytes zipped, {size:,} bytes unpacked")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
