"""What a run is called in a report, alone and beside others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shardlane_lab.report.wording import count_text, plural
from shardlane_lab.run_record import RunRecord


def short_names(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """One name a run, all different: the experiment's; with the target where two runs share it;
    numbered where even that is shared."""
    names = [record.name for record in records]
    names = [
        name if names.count(name) == 1 else f"{name} {record.target}"
        for name, record in zip(names, records, strict=True)
    ]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if names.count(name) == 1 else f"{name} #{seen[name]}")
    return tuple(unique)


def run_title(short_name: str, record: RunRecord) -> str:
    return f"{short_name}: {record.title}" if record.title else short_name


def run_caption(record: RunRecord) -> str:
    """Where and how long: ``local, delays measured · 600 s at 5 records/s · 3,000 sent``."""
    delays = record.environment.get("delays")
    where = record.target if delays is None else f"{record.target}, delays {delays}"
    rate = count_text(record.rate_per_s)
    parts = [
        where,
        f"{count_text(record.seconds)} s at {rate} records/s",
        f"{plural(record.sent, 'record')} sent",
    ]
    if record.published_round:
        parts.append(f"beside published round {record.published_round}")
    if not record.complete:
        parts.append("stopped early")
    return " · ".join(parts)
