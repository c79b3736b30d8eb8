"""The process that plays a consumer which is no function."""

from __future__ import annotations

from typing import Any

from shardlane_lab.processes.parent import OnEvent, Process
from shardlane_lab.run_record import Kind
from shardlane_lab.wiring import ProcessConsumer

_MODULES: dict[Kind, str] = {
    "boto3-get-records": "get_records",
    "boto3-efo": "subscribe",
    "shardlane-polling": "library",
    "shardlane-efo": "library",
}


def reader_process(stream: str, each: ProcessConsumer, on_event: OnEvent) -> Process:
    """Not started yet."""
    settings: dict[str, Any] = {
        "stream": stream,
        "label": each.label,
        "interval_ms": each.consumer.interval_ms,
        "workers": each.consumer.workers,
    }
    if each.registered is not None:
        settings["consumer"] = each.registered.name
    return Process(_MODULES[each.consumer.kind], settings, on_event)
