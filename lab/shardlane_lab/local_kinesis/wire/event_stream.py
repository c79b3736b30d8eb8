"""Frames of ``application/vnd.amazon.eventstream``.

A frame: total length, headers length, CRC-32 of those 8 bytes, headers, payload, CRC-32 of all
before it; every number is 4 bytes, big end first. A header: length of its name, name, type 7
(string), length of the value in 2 bytes, value.

Source: "Amazon event stream specification" of the Smithy documentation.
"""

from __future__ import annotations

from functools import cache
from struct import pack
from zlib import crc32

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7


def frame(headers: bytes, payload: bytes) -> bytes:
    """``headers`` as ``_encoded`` made them."""
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + payload
    return message + pack(">I", crc32(message))


@cache
def _encoded(message_type: str, type_header: str, kind: str, content_type: str) -> bytes:
    """The three headers of every frame; there are few different ones, and many frames."""
    named = {":message-type": message_type, type_header: kind, ":content-type": content_type}
    return b"".join(_header(name, value) for name, value in named.items())


def _header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode("ascii"), value.encode("utf-8")
    size = pack(">H", len(raw_value))
    return bytes([len(raw_name)]) + raw_name + bytes([_STRING]) + size + raw_value


INITIAL_RESPONSE = "initial-response"
"""The kind of the event that must come first; botocore refuses a stream without it."""


def event(kind: str, payload: bytes, content_type: str) -> bytes:
    return frame(_encoded("event", ":event-type", kind, content_type), payload)


def exception(code: str, payload: bytes, content_type: str) -> bytes:
    return frame(_encoded("exception", ":exception-type", code, content_type), payload)
