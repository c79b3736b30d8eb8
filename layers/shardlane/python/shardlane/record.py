"""One record of a stream, the same for a Lambda handler and for the long-running consumer."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from shardlane.errors import BadRecord
from shardlane.event_entry import LOADERS, RawRecord, entry_of, from_base64

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import (
        KinesisStreamRecordPayload,
    )

PARTITION_KEY_HEADER: Final = "partition-key"
SEQUENCE_NUMBER_HEADER: Final = "kinesis-sequence-number"
SHARD_ID_HEADER: Final = "kinesis-shard-id"

MOST_GUNZIPPED_BYTES: Final = 64 * 1024 * 1024
"""A megabyte of gzip may unpack to a gigabyte; a function has little memory."""


class Record:
    """A frozen view of one record.

    In Lambda the fields are read from the event when they are first used, so a damaged record
    raises ``BadRecord`` in its own handler call and fails alone. Two records are equal if place
    and content are.
    """

    __slots__ = (
        "_event",
        "arrival_ms",
        "data",
        "partition_key",
        "sequence_number",
        "shard_id",
        "source_arn",
        "stream",
        "sub_sequence_number",
        "value",
    )

    stream: str
    """The stream's name."""
    shard_id: str
    """Repeats across streams, e.g. ``shardId-000000000000``."""
    sequence_number: str
    """Decimal digits; compare as integers. The outer number for a record of an aggregate."""
    sub_sequence_number: int
    """Place within an aggregated record, 0 for a plain one."""
    partition_key: str
    data: bytes
    arrival_ms: int
    """The service's ``ApproximateArrivalTimestamp`` in epoch milliseconds; may go backwards."""
    source_arn: str
    """The ARN that the mapping reads, a stream's or a registered consumer's; "" if unknown."""
    value: Any
    """The data as the processor's ``model=``; None without a model."""

    def __init__(
        self,
        *,
        stream: str,
        shard_id: str,
        sequence_number: str,
        partition_key: str,
        data: bytes,
        arrival_ms: int,
        sub_sequence_number: int = 0,
        source_arn: str = "",
    ) -> None:
        _SET["_event"](self, None)
        _SET["stream"](self, stream)
        _SET["shard_id"](self, shard_id)
        _SET["sequence_number"](self, sequence_number)
        _SET["sub_sequence_number"](self, sub_sequence_number)
        _SET["partition_key"](self, partition_key)
        _SET["data"](self, data)
        _SET["arrival_ms"](self, arrival_ms)
        _SET["source_arn"](self, source_arn)

    @staticmethod
    def from_event(event: Any, sequence_number: str, partition_key: str) -> Record:
        """The view of one entry of a Lambda event; the rarer fields are read when used.

        Data that is not base64 is no error here: reading it is, for this record alone.
        """
        record = _new(Record)
        _set_event(record, event)
        _set_sequence_number(record, sequence_number)
        _set_partition_key(record, partition_key)
        try:
            _set_data(record, from_base64(event["kinesis"]["data"], strict_mode=True))
        except (KeyError, TypeError, ValueError):
            return record  # the slot stays empty; its loader says what is wrong
        return record

    def inner(self, sub_sequence_number: int, partition_key: str, data: bytes) -> Record:
        """A record of the aggregate that this record is."""
        return Record(
            stream=self.stream,
            shard_id=self.shard_id,
            sequence_number=self.sequence_number,
            sub_sequence_number=sub_sequence_number,
            partition_key=partition_key,
            data=data,
            arrival_ms=self.arrival_ms,
            source_arn=self.source_arn,
        )

    def with_value(self, value: Any) -> Record:
        """The same record carrying its data as a model."""
        kind = type(self)
        record = _new(kind)
        for owner in kind.__mro__:
            for name in owner.__dict__.get("__slots__", ()):
                slot = owner.__dict__[name]
                # An empty slot stays empty: it is read from the event when it is used.
                with suppress(AttributeError):
                    slot.__set__(record, slot.__get__(self))
        _SET["value"](record, value)
        return record

    def text(self) -> str:
        """The data as UTF-8 text; raises ``BadRecord`` if it is not."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadRecord(f"data is not UTF-8 text: {error.reason} at byte {error.start}") from (
                error
            )

    def json(self) -> Any:
        """The data as JSON; raises ``BadRecord`` if it is not."""
        text = self.text()
        try:
            # raw_decode leaves out the search for white space around the document, which costs as
            # much as a small document itself; the full decoder decides when there is some.
            value, end = _decode_document(text)
        except json.JSONDecodeError:
            return _json_of(text)
        return value if end == len(text) else _json_of(text)

    def gunzip(self, most_bytes: int = MOST_GUNZIPPED_BYTES) -> bytes:
        """The data unpacked from gzip or zlib, as CloudWatch Logs subscriptions send it.

        Raises ``BadRecord`` if it is neither, cut off, or unpacks to more than ``most_bytes``.
        """
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: either header
        try:
            unpacked = unpacker.decompress(self.data, most_bytes)
        except zlib.error as error:
            raise BadRecord(f"data is neither gzip nor zlib: {error}") from error
        if unpacker.unconsumed_tail:
            raise BadRecord(f"data unpacks to more than {most_bytes} bytes")
        if not unpacker.eof:
            raise BadRecord("data is cut off: its gzip or zlib stream does not end")
        return unpacked

    @property
    def headers(self) -> Mapping[str, str]:
        """Where the record came from, by header name; read-only."""
        return MappingProxyType(
            {
                PARTITION_KEY_HEADER: self.partition_key,
                SEQUENCE_NUMBER_HEADER: self.sequence_number,
                SHARD_ID_HEADER: self.shard_id,
            }
        )

    @property
    def kinesis(self) -> KinesisStreamRecordPayload:
        """Powertools' own view of this record, for a handler that was written for it."""
        return _powertools_view()(self.to_event()["kinesis"])

    def to_event(self) -> RawRecord:
        """This record as an entry of a Lambda event: the original one, or one made of it."""
        return self._event if self._event is not None else entry_of(self)

    _event: RawRecord | None

    def __getattr__(self, name: str) -> Any:
        # Called only for a slot that is still empty: read it from the event and keep it. Two
        # threads may both do so and store equal values.
        load = LOADERS.get(name)
        if load is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = load(self._event)
        _SET[name](self, value)
        return value

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Record is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Record is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _COMPARED)

    def __hash__(self) -> int:
        return hash((self.sequence_number, self.sub_sequence_number))

    def __reduce__(self) -> tuple[Callable[..., Record], tuple[Any, ...]]:
        return _restored, tuple(getattr(self, name) for name in _COMPARED)

    def __repr__(self) -> str:
        """Where the record is; never its key or data, so that a traceback leaks neither."""
        return f"Record({self.sequence_number}, sub_sequence_number={self.sub_sequence_number})"


_COMPARED = (
    "stream",
    "shard_id",
    "sequence_number",
    "sub_sequence_number",
    "partition_key",
    "data",
    "arrival_ms",
)
# The slots' own setters get past __setattr__ and cost a third of object.__setattr__.
_SET: dict[str, Callable[[Record, Any], None]] = {
    name: getattr(Record, name).__set__ for name in Record.__slots__
}
_new = object.__new__
_set_event = _SET["_event"]
_set_sequence_number = _SET["sequence_number"]
_set_partition_key = _SET["partition_key"]
_set_data = _SET["data"]
_decode_document = json.JSONDecoder().raw_decode


@cache
def _powertools_view() -> type[KinesisStreamRecordPayload]:
    # Not at the top: the long-running consumer does not need Powertools' event classes.
    from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import (
        KinesisStreamRecordPayload,
    )

    return KinesisStreamRecordPayload


def _restored(*values: Any) -> Record:
    return Record(**dict(zip(_COMPARED, values, strict=True)))


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRecord(f"data is not JSON: {error}") from error
