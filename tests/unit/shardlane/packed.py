"""Packs records as the Kinesis Producer Library does."""

from __future__ import annotations

import hashlib

MAGIC = b"\xf3\x89\x9a\xc2"


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def packed_message(records: list[tuple[str, bytes]], *, tags: bool = False) -> bytes:
    """The protobuf message, with the optional fields if ``tags``."""
    keys = list(dict.fromkeys(key for key, _ in records))
    message = b"".join(field(1, key.encode()) for key in keys)
    if tags:
        message += field(2, b"12345678901234567890")
    for key, data in records:
        inner = number_field(1, keys.index(key))
        if tags:
            inner += number_field(2, 0)
        inner += field(3, data)
        if tags:
            inner += field(4, field(1, b"tag") + field(2, b"value"))
        message += field(3, inner)
    return message


def sealed(message: bytes) -> bytes:
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def packed(records: list[tuple[str, bytes]], *, tags: bool = False) -> bytes:
    return sealed(packed_message(records, tags=tags))
