"""The record that a long-running handler gets: a ``Record`` that knows its lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlane.record import Record

if TYPE_CHECKING:
    from shardlane.consumer.reading import Place, Reading


class HeldRecord(Record):
    """Adds ``fence`` and ``lease_lost`` to ``Record``."""

    __slots__ = ("_reading",)

    _reading: Reading

    @property
    def fence(self) -> int:
        """A number that is larger for every later owner of this shard.

        Write it with what the handler writes, and refuse a smaller one: that keeps out a handler
        that outlives its lease.
        """
        return self._reading.fence

    @property
    def lease_lost(self) -> bool:
        """Whether another instance may by now handle this record too: a long plain handler asks
        before it does what cannot be repeated. (An async one is cancelled.)"""
        return self._reading.lost


_new = object.__new__
# The slots' own setters cost a third of the constructor, and this runs for every record.
_set_event = Record._event.__set__  # type: ignore[attr-defined]
_set_stream = Record.stream.__set__  # type: ignore[attr-defined]
_set_shard_id = Record.shard_id.__set__  # type: ignore[attr-defined]
_set_sequence_number = Record.sequence_number.__set__  # type: ignore[attr-defined]
_set_sub_sequence_number = Record.sub_sequence_number.__set__  # type: ignore[attr-defined]
_set_partition_key = Record.partition_key.__set__  # type: ignore[attr-defined]
_set_data = Record.data.__set__  # type: ignore[attr-defined]
_set_arrival_ms = Record.arrival_ms.__set__  # type: ignore[attr-defined]
_set_value = Record.value.__set__  # type: ignore[attr-defined]
_set_reading = HeldRecord._reading.__set__  # type: ignore[attr-defined]


def held_record(reading: Reading, place: Place, partition_key: str, data: bytes) -> HeldRecord:
    """A record of a reading; the same as the constructor would give, in a third of its time."""
    record = _new(HeldRecord)
    _set_event(record, None)
    _set_stream(record, reading.stream)
    _set_shard_id(record, reading.shard_id)
    _set_sequence_number(record, place.sequence_number)
    _set_sub_sequence_number(record, place.sub)
    _set_partition_key(record, partition_key)
    _set_data(record, data)
    _set_arrival_ms(record, place.arrival_ms)
    _set_value(record, None)
    _set_reading(record, reading)
    return record
