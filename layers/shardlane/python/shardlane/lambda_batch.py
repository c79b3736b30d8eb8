"""From a Lambda event's ``Records`` to records, aggregates unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from shardlane.errors import BadEvent, BadRecord
from shardlane.event_entry import OURS, RawRecord
from shardlane.record import Record

AGGREGATE_BASE64: Final = "84maw"
"""How the base64 of every payload that may be an aggregate starts: 30 of the 32 bits of its magic
number. Only then the module that unpacks aggregates is needed."""


class LambdaBatch:
    """The records to handle, by position in the event's order.

    An aggregated record is replaced by the records in it, each with the outer sequence number.
    A ``Record`` is made when it is asked for and not kept: a batch may hold 10,000, and making
    all of them first costs more than the rest of the processing.
    """

    __slots__ = ("_sources", "keys", "sequence_numbers")

    def __init__(self, entries: Sequence[RawRecord]) -> None:
        """Raises ``BadEvent`` for an entry without a sequence number: nothing could be reported
        for it. A record with any other damage stays in and fails when its data is read."""
        self.keys: list[str] = []
        self.sequence_numbers: list[str] = []
        """The outer number of each position."""
        self._sources: list[RawRecord | Record] = []
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
            # The service demands a key; records of a hand-made event without one share "".
            self.keys.append(key if type(key) is str else "")
            self.sequence_numbers.append(sequence_number)
            self._sources.append(entry)
            if type(data) is str and data.startswith(AGGREGATE_BASE64) and _is_whole(entry):
                self._unpack_last()

    def __len__(self) -> int:
        return len(self.keys)

    def record(self, position: int) -> Record:
        source = self._sources[position]
        if type(source) is Record:
            return source
        return Record.from_event(source, self.sequence_numbers[position], self.keys[position])

    def _unpack_last(self) -> None:
        from shardlane.aggregate import unpack

        outer = self.record(len(self) - 1)
        try:
            inner = unpack(outer.data)
        except BadRecord:
            return  # not base64: fails alone, with this reason, when its data is read
        if inner is None:
            return
        for column in (self.keys, self.sequence_numbers, self._sources):
            column.pop()
        for sub_sequence_number, each in enumerate(inner):
            self.keys.append(each.partition_key)
            self.sequence_numbers.append(outer.sequence_number)
            self._sources.append(outer.inner(sub_sequence_number, each.partition_key, each.data))


def _is_whole(entry: RawRecord) -> bool:
    """Whether it is as a mapping delivers it. What comes back from the parking lot was unpacked
    before it was parked; what a mapping gave up, and is sent once more, was not."""
    ours = entry.get(OURS)
    return not isinstance(ours, dict) or not (ours.keys() & {"redrive", "sub_sequence_number"})


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
