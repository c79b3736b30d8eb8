"""What the published measurement covers, and so what the model was compared with.

One shard in Tokyo at 5 records/s of about 100 bytes; up to three pollers at 200 ms, one standard
mapping, one Lambda and one boto3 consumer on enhanced fan-out; a handler that takes no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shardlane_lab.simulator.arrivals import Load
from shardlane_lab.simulator.reader import Reader

REGION = "ap-northeast-1"
POLLERS = 3
FAN_OUT = 2
STANDARD_MAPPINGS = 1
INTERVAL_MS = 200.0
RATE_PER_S = 5.0
BYTES_PER_S = 64 * 1024.0
"""Below this, per shard and reader, no byte limit plays a part."""


def outside(
    load: Load, readers: Sequence[Reader], *, shards: int = 1, region: str = REGION
) -> list[str]:
    """Why a figure is an extrapolation: short clauses, none if it is not. ``load`` is of one
    shard."""
    return [*_readers(readers), *_handling(readers), *_load(load, shards, region)]


def _readers(readers: Sequence[Reader]) -> list[str]:
    kinds = Counter(reader.kind for reader in readers)
    fan_out = kinds["lambda-efo"] + kinds["boto3-efo"]
    intervals = {reader.interval_ms for reader in readers if reader.kind == "boto3-get-records"} - {
        INTERVAL_MS
    }
    return [
        clause
        for clause, holds in (
            (f"more than {POLLERS} pollers", kinds["boto3-get-records"] > POLLERS),
            (f"more than {FAN_OUT} EFO consumers", fan_out > FAN_OUT),
            ("more than 1 standard mapping", kinds["lambda-standard"] > STANDARD_MAPPINGS),
            (
                "several pollers without a standard mapping beside them",
                kinds["boto3-get-records"] > 1 and not kinds["lambda-standard"],
            ),
            (f"polls not every {INTERVAL_MS:.0f} ms", bool(intervals)),
        )
        if holds
    ]


def _handling(readers: Sequence[Reader]) -> list[str]:
    mappings = [reader.mapping for reader in readers if reader.is_mapping]
    return [
        clause
        for clause, holds in (
            ("a handler that takes time", any(each.handling.per_record_ms for each in readers)),
            ("ParallelizationFactor", any(each.parallelization > 1 for each in mappings)),
            ("a batch window", any(each.window_ms > 0 for each in mappings)),
        )
        if holds
    ]


def _load(load: Load, shards: int, region: str) -> list[str]:
    return [
        clause
        for clause, holds in (
            (f"a rate other than {RATE_PER_S:g} records/s a shard", load.rate_per_s != RATE_PER_S),
            ("byte limits", load.rate_per_s * load.record_bytes > BYTES_PER_S),
            ("more than one shard", shards > 1),
            (f"a region other than {REGION}", region != REGION),
        )
        if holds
    ]
