"""From a Lambda event's ``Records`` to records, aggregates unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from shardlane import aggregate
from shardlane.errors import BadEvent, BadRecord
from shardlane.record import RawRecord, Record


def records_of(entries: Sequence[RawRecord]) -> list[Record]:
    """The records to handle, in the event's order.

    An aggregated record is replaced by the records in it, each with the outer sequence number. A
    record whose data cannot be read stays as it is and fails when its data is used. Raises
    ``BadEvent`` for an entry without a sequence number: nothing could be reported for it.
    """
    records: list[Record] = []
    append = records.append
    for index, entry in enumerate(entries):
        try:
            kinesis = entry["kinesis"]
            sequence_number = kinesis["sequenceNumber"]
            key = kinesis.get("partitionKey")
            data = kinesis.get("data")
        except (KeyError, TypeError, AttributeError):
            _refuse(index, entry)
        if type(sequence_number) is not str or not sequence_number.isdecimal():
            _refuse(index, entry)
        # The service demands a key; a hand-made event without one is a key of its own.
        record = Record.from_event(entry, sequence_number, key if type(key) is str else "")
        if type(data) is str and data.startswith(aggregate.MAGIC_BASE64):
            records.extend(_unpacked(record))
        else:
            append(record)
    return records


def _unpacked(record: Record) -> list[Record]:
    try:
        inner = aggregate.unpack(record.data)
    except BadRecord:
        return [record]  # not base64: fails alone, with this reason, when its data is read
    if inner is None:
        return [record]
    return [record.inner(sub, each.partition_key, each.data) for sub, each in enumerate(inner)]


def _refuse(index: int, entry: Any) -> NoReturn:
    source = entry.get("eventSource") if isinstance(entry, dict) else None
    if source is not None and source != "aws:kinesis":
        raise BadEvent(
            f"Records[{index}] comes from {source!r}; only 'aws:kinesis' is handled here"
        )
    raise BadEvent(
        f"Records[{index}] has no kinesis.sequenceNumber of decimal digits; "
        "is this the event of a Kinesis event source mapping?"
    )
