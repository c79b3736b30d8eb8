"""Checks of a request, compiled from the service model that botocore ships.

The model names every operation's members, types, lengths, patterns and enumerations; the service
checks them before anything else, so each operation here receives values that are what they say.
A wrong type is a ``SerializationException``; values out of bounds are collected into one
``ValidationException`` in the service's wording.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, cast

from botocore.loaders import Loader

from shardlane_lab.local_kinesis.errors import serialization, validation

_SHOWN_CHARACTERS = 256
"""How much of a bad value an error message repeats."""


class Encoding(Enum):
    """What a blob looks like in a request before it is checked."""

    NATIVE = "native"
    """``bytes``: an in-process caller, or CBOR."""
    BASE64 = "base64"
    """Base64 text: JSON."""


@dataclass(slots=True)
class Problem:
    """A value that breaks a constraint; ``path`` grows while the check returns to the top."""

    shown: str
    constraint: str
    path: str = ""

    def within(self, member: str) -> None:
        self.path = f"{member}.{self.path}" if self.path else member

    def __str__(self) -> str:
        return (
            f"Value {self.shown} at '{self.path}' failed to satisfy constraint: {self.constraint}"
        )


Check = Callable[[Any, list[Problem]], Any]
"""Takes the raw value, returns the value the operation sees, adds what is wrong to the list."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of the service model, as far as checks need it."""

    kind: str
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    choices: tuple[str, ...] | None = None
    required: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    member: str = ""
    """The shape of a list's members or a map's values."""
    key: str = ""


def _shown(value: object) -> str:
    text = str(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return f"'{text}'"


def _wrong_type(value: object, wanted: str) -> Exception:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    found = next((name for kind, name in kinds.items() if isinstance(value, kind)), None)
    if found is None:
        found = "a number" if isinstance(value, (int, float)) else type(value).__name__
    return serialization(f"Found {found} where {wanted} is expected.")


def _bounds(shape: Shape, measure: str) -> Callable[[float, object, list[Problem]], None]:
    """``measure`` is "length" or "value": the word of the service's message."""
    low, high = shape.minimum, shape.maximum
    words = f"Member must have {measure}"

    def check(size: float, value: object, problems: list[Problem]) -> None:
        if low is not None and size < low:
            problems.append(Problem(_shown(value), f"{words} greater than or equal to {low}"))
        if high is not None and size > high:
            problems.append(Problem(_shown(value), f"{words} less than or equal to {high}"))

    return check


def _string(shape: Shape) -> Check:
    bounds = _bounds(shape, "length")
    low, high = shape.minimum or 0, shape.maximum or float("inf")
    pattern = re.compile(shape.pattern) if shape.pattern else None
    choices = shape.choices

    def check(value: Any, problems: list[Problem]) -> str:
        if not isinstance(value, str):
            raise _wrong_type(value, "a string")
        if not value.isascii():
            _check_unicode(value)
        if not low <= len(value) <= high:
            bounds(len(value), value, problems)
        if choices is not None and value not in choices:
            allowed = f"Member must satisfy enum value set: [{', '.join(choices)}]"
            problems.append(Problem(_shown(value), allowed))
        elif pattern is not None and not pattern.fullmatch(value):
            wanted = f"Member must satisfy regular expression pattern: {shape.pattern}"
            problems.append(Problem(_shown(value), wanted))
        return value

    return check


def _check_unicode(value: str) -> None:
    """Half a surrogate pair has no bytes, so no hash key either."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise serialization("A string is not valid Unicode.") from None


def _integer(shape: Shape) -> Check:
    bounds = _bounds(shape, "value")

    def check(value: Any, problems: list[Problem]) -> int:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            raise _wrong_type(value, "an integer")
        bounds(value, value, problems)
        return int(value)

    return check


def _boolean(_: Shape) -> Check:
    def check(value: Any, _problems: list[Problem]) -> bool:
        if not isinstance(value, bool):
            raise _wrong_type(value, "a boolean")
        return value

    return check


def _timestamp(_: Shape) -> Check:
    """Seconds since the epoch; an in-process caller may give an aware ``datetime``."""

    def check(value: Any, _problems: list[Problem]) -> float:
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong_type(value, "a timestamp in seconds")
        if not abs(value) < 1e12:
            raise serialization(f"{value} is no timestamp in seconds.")
        return float(value)

    return check


def _decoded(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong_type(value, "base64 text")
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise serialization(f"A blob is not base64: {error}.") from None


def _native(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    raise _wrong_type(value, "bytes")


def _blob(shape: Shape, encoding: Encoding) -> Check:
    read = _decoded if encoding is Encoding.BASE64 else _native
    bounds = _bounds(shape, "length")
    high = shape.maximum or float("inf")

    def check(value: Any, problems: list[Problem]) -> bytes:
        data = read(value)
        if len(data) > high:
            bounds(len(data), f"{len(data)} bytes", problems)
        return data

    return check


def _list(shape: Shape, member: Check) -> Check:
    bounds = _bounds(shape, "length")

    def check(value: Any, problems: list[Problem]) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type(value, "a list")
        bounds(len(value), f"a list of {len(value)}", problems)
        if problems:
            return []  # thousands of members too many: their own problems help nobody
        checked = []
        for number, item in enumerate(value, start=1):
            seen = len(problems)
            checked.append(member(item, problems))
            if len(problems) > seen:
                for problem in problems[seen:]:
                    problem.within(f"{number}.member")
        return checked

    return check


def _map(shape: Shape, key: Check, member: Check) -> Check:
    bounds = _bounds(shape, "length")

    def check(value: Any, problems: list[Problem]) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong_type(value, "an object")
        bounds(len(value), f"a map of {len(value)}", problems)
        checked = {}
        for name, item in value.items():
            seen = len(problems)
            checked[key(name, problems)] = member(item, problems)
            for problem in problems[seen:]:
                problem.within(f"{name}.member")
        return checked

    return check


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def _structure(shape: Shape, members: Mapping[str, Check]) -> Check:
    required = shape.required

    def check(value: Any, problems: list[Problem]) -> dict[str, Any]:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise _wrong_type(value, "an object")
        checked = {}
        for name, item in value.items():
            member = members.get(name)
            if member is None or item is None:
                continue  # the service ignores members it does not know
            seen = len(problems)
            checked[name] = member(item, problems)
            if len(problems) > seen:
                for problem in problems[seen:]:
                    problem.within(_camel(name))
        for name in required:
            if name not in checked:
                missing = Problem("null", "Member must not be null")
                missing.within(_camel(name))
                problems.append(missing)
        return checked

    return check


_PLAIN: Mapping[str, Callable[[Shape], Check]] = {
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "boolean": _boolean,
    "timestamp": _timestamp,
}


@cache
def _service() -> Mapping[str, Any]:
    return cast(Mapping[str, Any], Loader().load_service_model("kinesis", "service-2"))


def _shape(name: str) -> Shape:
    raw = _service()["shapes"][name]
    return Shape(
        kind=raw["type"],
        minimum=raw.get("min"),
        maximum=raw.get("max"),
        pattern=raw.get("pattern"),
        choices=tuple(raw["enum"]) if "enum" in raw else None,
        required=tuple(raw.get("required", ())),
        members={member: each["shape"] for member, each in raw.get("members", {}).items()},
        member=raw.get("member", raw.get("value", {})).get("shape", ""),
        key=raw.get("key", {}).get("shape", ""),
    )


@cache
def _compiled(name: str, encoding: Encoding) -> Check:
    shape = _shape(name)
    if shape.kind == "structure":
        members = {member: _compiled(each, encoding) for member, each in shape.members.items()}
        return _structure(shape, members)
    if shape.kind == "list":
        return _list(shape, _compiled(shape.member, encoding))
    if shape.kind == "map":
        return _map(shape, _compiled(shape.key, encoding), _compiled(shape.member, encoding))
    if shape.kind == "blob":
        return _blob(shape, encoding)
    return _PLAIN[shape.kind](shape)


def service_operations() -> frozenset[str]:
    """The names of all operations that the installed botocore knows."""
    return frozenset(_service()["operations"])


@cache
def _input_check(operation: str, encoding: Encoding) -> Check:
    return _compiled(_service()["operations"][operation]["input"]["shape"], encoding)


def checked(
    operation: str, request: object, encoding: Encoding = Encoding.NATIVE
) -> dict[str, Any]:
    """The request as the operation may use it: known members only, blobs as bytes, timestamps as
    seconds.

    Raises ``ServiceError``: ``SerializationException`` or ``ValidationException``.
    """
    problems: list[Problem] = []
    values = cast(dict[str, Any], _input_check(operation, encoding)(request, problems))
    if problems:
        count = "1 validation error" if len(problems) == 1 else f"{len(problems)} validation errors"
        raise validation(f"{count} detected: {'; '.join(map(str, problems[:10]))}")
    return values
