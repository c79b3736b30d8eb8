"""Records that the Kinesis Producer Library packed into one, and how to unpack them.

The format is the KPL's published one (awslabs/amazon-kinesis-producer, "KPL Aggregated Record
Format"): four magic bytes, a protobuf message, the MD5 of the message. Only when all three fit is
a payload an aggregate: a plain payload may start with the magic by chance. What does not fit is
handed over as it is, as the Kinesis Client Library does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"\xf3\x89\x9a\xc2"
_DIGEST_BYTES = 16

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_KEY_TABLE, _RECORDS = 1, 3
_RECORD_KEY_INDEX, _RECORD_DATA = 1, 3


class UserRecord(NamedTuple):
    """One record inside an aggregate, in the order in which the producer added it."""

    partition_key: str
    data: bytes


def unpack(data: bytes) -> list[UserRecord] | None:
    """The records in ``data``, or None if it is a plain payload."""
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + _DIGEST_BYTES:
        return None
    message, digest = data[len(MAGIC) : -_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        return _user_records(message)
    except (IndexError, UnicodeDecodeError, _NotTheMessage):
        return None


class _NotTheMessage(ValueError):
    """The bytes are not the protobuf message that the format asks for."""


def _user_records(message: bytes) -> list[UserRecord]:
    keys: list[str] = []
    packed: list[bytes] = []
    for number, value in _fields(message):
        if number == _KEY_TABLE:
            keys.append(_expect_bytes(value).decode("utf-8"))
        elif number == _RECORDS:
            packed.append(_expect_bytes(value))
    return [_user_record(each, keys) for each in packed]


def _user_record(message: bytes, keys: list[str]) -> UserRecord:
    key_index, data = None, None
    for number, value in _fields(message):
        if number == _RECORD_KEY_INDEX:
            key_index = value
        elif number == _RECORD_DATA:
            data = _expect_bytes(value)
    if not isinstance(key_index, int) or data is None:
        raise _NotTheMessage("a record in it has no key or no data")
    return UserRecord(keys[key_index], data)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The top-level fields of a protobuf message: field number and varint or bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _LENGTH:
            length, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise _NotTheMessage(f"wire type {kind}")
        if at + length > len(message):
            raise _NotTheMessage("a field is longer than the message")
        yield tag >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise _NotTheMessage("a number is longer than 64 bits")


def _expect_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _NotTheMessage("a number where bytes were expected")
    return value
