"""Frames of ``application/vnd.amazon.eventstream``.

A frame: total length, headers length, CRC-32 of those 8 bytes, headers, payload, CRC-32 of all
before it; every number is 4 bytes, big end first. A header: length of its name, name, type 7
(string), length of the value in 2 bytes, value.

Source: "Amazon event stream specification" of the Smithy documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack
from zlib import crc32

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    encoded = b"".join(_header(name, value) for name, value in headers.items())
    prelude = pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    message = prelude + pack(">I", crc32(prelude)) + encoded + payload
    return message + pack(">I", crc32(message))


def _header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode("ascii"), value.encode("utf-8")
    return (
        bytes([len(raw_name)])
        + raw_name
        + bytes([_STRING])
        + pack(">H", len(raw_value))
        + raw_value
    )


INITIAL_RESPONSE = "initial-response"
"""The kind of the event that must come first; botocore refuses a stream without it."""


def event(kind: str, payload: bytes, content_type: str) -> bytes:
    headers = {":message-type": "event", ":event-type": kind, ":content-type": content_type}
    return frame(headers, payload)


def exception(code: str, payload: bytes, content_type: str) -> bytes:
    headers = {
        ":message-type": "exception",
        ":exception-type": code,
        ":content-type": content_type,
    }
    return frame(headers, payload)
