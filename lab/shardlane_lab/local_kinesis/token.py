"""Opaque tokens: shard iterators and paging tokens.

A token is a checksummed text that only its maker reads. It names the stream's *generation* (its
number in this account), so that a token of a deleted stream is not taken for one of its successor
of the same name.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import orjson

from shardlane_lab.local_kinesis.errors import invalid_argument

_ITERATOR = struct.Struct(">BIIQdI")
_ITERATOR_KIND = 1
_PAGE_KIND = 2


def _sealed(payload: bytes) -> str:
    return base64.b64encode(payload + zlib.crc32(payload).to_bytes(4, "big")).decode("ascii")


def _opened(token: str) -> bytes | None:
    """The payload, or None if this is no token of ours."""
    try:
        raw = base64.b64decode(token, validate=True)
    except ValueError:
        return None
    payload, check = raw[:-4], raw[-4:]
    if len(raw) < 5 or zlib.crc32(payload).to_bytes(4, "big") != check:
        return None
    return payload


@dataclass(frozen=True, slots=True)
class ShardIterator:
    """A position in a shard: ``index`` records were written before it."""

    generation: int
    shard: int
    index: int
    issued_ms: float
    serial: int = 0
    """Makes every answer's iterator a new one, as the service's are."""

    def text(self) -> str:
        return _sealed(
            _ITERATOR.pack(
                _ITERATOR_KIND,
                self.generation,
                self.shard,
                self.index,
                self.issued_ms,
                self.serial & 0xFFFFFFFF,
            )
        )


def shard_iterator(text: str) -> ShardIterator:
    """Raises ``InvalidArgumentException`` for anything that GetShardIterator did not issue."""
    payload = _opened(text)
    if payload is None or len(payload) != _ITERATOR.size or payload[0] != _ITERATOR_KIND:
        raise invalid_argument("Invalid ShardIterator.")
    _, generation, shard, index, issued_ms, serial = _ITERATOR.unpack(payload)
    return ShardIterator(generation, shard, index, issued_ms, serial)


@dataclass(frozen=True, slots=True)
class Page:
    """Where a listing goes on: ``after`` is the last item shown, ``options`` what the first call
    asked for."""

    operation: str
    generation: int
    after: str
    issued_ms: float
    options: dict[str, Any]

    def text(self) -> str:
        values = [self.operation, self.generation, self.after, self.issued_ms, self.options]
        return _sealed(bytes([_PAGE_KIND]) + orjson.dumps(values))


def page(text: str, operation: str) -> Page:
    """Raises ``InvalidArgumentException`` for a token of another operation, or of nobody."""
    payload = _opened(text)
    if payload is None or payload[0] != _PAGE_KIND:
        raise invalid_argument("The NextToken is invalid.")
    found, generation, after, issued_ms, options = orjson.loads(payload[1:])
    if found != operation:
        raise invalid_argument(f"The NextToken belongs to {found}, not to {operation}.")
    return Page(found, generation, after, issued_ms, options)
