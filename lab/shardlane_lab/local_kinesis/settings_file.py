"""Limits and delays from a file, for ``shardlane-lab kinesis`` and for tests.

::

    [limits]
    get_records_per_s = 10
    write_bytes_per_s = "off"
    get_records_shape = "sliding-window"
    calls_per_s = "off"

    [delays]
    base = "measured"          # or "none"; what is said below replaces its values
    push_spread_ms = 300
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limiter import LimiterShape
from shardlane_lab.local_kinesis.limits import CALLS_PER_S, Limits

_OFF = "off"
_BASES = {"none": Delays.none, "measured": Delays.measured}

T = TypeVar("T", Limits, Delays)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    limits: Limits
    delays: Delays


def service_settings(values: object) -> ServiceSettings:
    """What a parsed file says. Raises ``ValueError`` that names what is wrong."""
    if not isinstance(values, Mapping):
        raise ValueError("settings are a table with the keys limits and delays")
    unknown = sorted(set(values) - {"limits", "delays"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}: known are limits and delays")
    return ServiceSettings(
        _limits(_table(values, "limits")), _delays(dict(_table(values, "delays")))
    )


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} must be a table: {table!r}")
    return table


def _limits(given: Mapping[str, Any]) -> Limits:
    read = {name: _limit(name, value) for name, value in given.items()}
    return _replaced(Limits(), "limits", read)


def _limit(name: str, value: Any) -> Any:
    if name == "get_records_shape":
        return _shape(value)
    if value == _OFF:
        return None
    if name == "calls_per_s":
        if not isinstance(value, Mapping):
            raise ValueError(f"limits.{name} must be {_OFF!r} or a table of operations: {value!r}")
        return {operation: _rate(operation, rate) for operation, rate in value.items()}
    return _number(f"limits.{name}", value)


def _rate(operation: str, value: Any) -> float:
    """Calls per second of a control operation."""
    if operation not in CALLS_PER_S:
        known = ", ".join(CALLS_PER_S)
        raise ValueError(f"limits.calls_per_s: {operation!r} is none of {known}")
    return _number(f"limits.calls_per_s.{operation}", value)


def _shape(value: Any) -> LimiterShape:
    try:
        return LimiterShape(value)
    except ValueError:
        shapes = ", ".join(shape.value for shape in LimiterShape)
        raise ValueError(f"limits.get_records_shape {value!r} is none of {shapes}") from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number, or {_OFF!r} where it is a limit: {value!r}")
    return value


def _delays(given: dict[str, Any]) -> Delays:
    base = given.pop("base", "none")
    if base not in _BASES:
        raise ValueError(f"delays.base {base!r} is none of {', '.join(_BASES)}")
    read = {name: _number(f"delays.{name}", value) for name, value in given.items()}
    return _replaced(_BASES[base](), "delays", read)


def _replaced(base: T, table: str, values: Mapping[str, Any]) -> T:
    known = {each.name: each.type for each in dataclasses.fields(base)}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"unknown key {table}.{name}; known are {', '.join(known)}")
        if value is None and "None" not in str(known[name]):
            raise ValueError(f"{table}.{name} cannot be switched off")
        if isinstance(value, float) and str(known[name]).startswith("int"):
            raise ValueError(f"{table}.{name} must be a whole number: {value!r}")
    try:
        return dataclasses.replace(base, **values)
    except ValueError as error:
        said = str(error).replace("None for", f"{_OFF!r} for")  # as a file says it
        raise ValueError(f"{table}: {said}") from None


def read_service_settings(path: Path) -> ServiceSettings:
    """From a TOML file. Raises ``ValueError`` or ``OSError`` that names it."""
    content = path.read_bytes()
    try:
        return service_settings(tomllib.loads(content.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
