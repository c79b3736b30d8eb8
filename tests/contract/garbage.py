"""Requests that make no sense, from a seed: nearly right ones and wholly wrong ones."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from random import Random
from typing import Any, cast

import cbor2
import orjson
from botocore.loaders import Loader

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"

_ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**31,
    2**63 - 1,
    1e308,
    "",
    "x",
    "0",
    "shardId-000000000000",
    "orders",
    "🔑" * 300,
    "\x00",
    "a" * 5000,
    [],
    {},
    [None],
    {"": ""},
    [[[[]]]],
]


class Garbage:
    """Makes requests; ``issued`` tokens and ARNs of a live stream make some of them dangerous."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.issued: list[str] = []
        self._service = cast(Mapping[str, Any], Loader().load_service_model("kinesis", "service-2"))
        self._operations = sorted(self._service["operations"])

    def request(self) -> tuple[str, str, bytes]:
        """Operation, content type and body."""
        operation = self.random.choice(self._operations)
        shape = self._service["operations"][operation]["input"]["shape"]
        values = self._value(shape, 0)
        kind = self.random.choice([JSON, JSON, CBOR])
        body = _json(values) if kind == JSON else cbor2.dumps(values)
        if self.random.random() < 0.3:
            body = self.mutated(body)
        if self.random.random() < 0.05:
            operation = self.random.choice(["", "Fly", operation.lower(), operation * 50])
        return operation, kind, body

    def mutated(self, data: bytes) -> bytes:
        """Some bytes changed, cut out, doubled or put in."""
        changed = bytearray(data)
        for _ in range(self.random.randint(1, 8)):
            at = self.random.randrange(len(changed) + 1)
            choice = self.random.randrange(4)
            if choice == 0:
                changed[at:at] = self.random.randbytes(self.random.randint(1, 4))
            elif choice == 1:
                del changed[at : at + self.random.randint(1, 8)]
            elif choice == 2 and at < len(changed):
                changed[at] = self.random.randrange(256)
            else:
                changed[at:at] = changed[max(0, at - 8) : at]
        return bytes(changed)

    # --- values ------------------------------------------------------------------------------

    def _value(self, name: str, depth: int) -> Any:
        shape = self._service["shapes"][name]
        if depth and self.random.random() < 0.08:
            return self.random.choice(_ODD)
        if depth > 6:
            return None
        return getattr(self, f"_{shape['type']}")(shape, depth)

    def _structure(self, shape: Mapping[str, Any], depth: int) -> Any:
        required = shape.get("required", ())
        return {
            member: self._value(each["shape"], depth + 1)
            for member, each in shape.get("members", {}).items()
            if self.random.random() < (0.97 if member in required else 0.4)
        }

    def _list(self, shape: Mapping[str, Any], depth: int) -> Any:
        count = self.random.choice([0, 1, 2, 3, 501])
        return [self._value(shape["member"]["shape"], depth + 1) for _ in range(count)]

    def _map(self, shape: Mapping[str, Any], depth: int) -> Any:
        count = self.random.choice([0, 1, 2, 60])
        return {str(number): self._value(shape["value"]["shape"], depth) for number in range(count)}

    def _string(self, shape: Mapping[str, Any], _depth: int) -> Any:
        if "enum" in shape and self.random.random() < 0.9:
            return self.random.choice(shape["enum"])
        likely = ["orders", "other", "shardId-000000000000", "shardId-000000000001", "efo", "k"]
        likely += [str(2**127), "0", "49" + "0" * 54]
        if self.issued and self.random.random() < 0.5:
            token = self.random.choice(self.issued)
            if self.random.random() < 0.3:
                return self.mutated(token.encode()).decode("utf-8", "replace")
            return token
        return self.random.choice(likely)

    def _integer(self, shape: Mapping[str, Any], _depth: int) -> Any:
        low, high = shape.get("min", 0), shape.get("max", 10_000)
        return self.random.choice([low, high, low - 1, high + 1, 1, 2, 24, 48])

    _long = _integer

    def _boolean(self, _shape: Mapping[str, Any], _depth: int) -> Any:
        return self.random.random() < 0.5

    def _timestamp(self, _shape: Mapping[str, Any], _depth: int) -> Any:
        return self.random.choice([0, -1, 1_780_000_000, 1_780_000_000_000, 1e300, 1.5])

    def _blob(self, _shape: Mapping[str, Any], _depth: int) -> Any:
        data = self.random.randbytes(self.random.choice([0, 1, 300]))
        return data if self.random.random() < 0.3 else base64.b64encode(data).decode()


def _json(values: Any) -> bytes:
    return orjson.dumps(values, default=lambda data: data.decode("latin-1"))
