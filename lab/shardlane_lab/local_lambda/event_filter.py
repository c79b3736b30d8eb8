"""Filter patterns of a mapping (source: "Control which events Lambda sends to your function" and
"Event filtering with Kinesis", Lambda Developer Guide).

A pattern is an object whose leaves are lists of rules; a record passes a filter if every leaf has
a rule that its value passes, and passes the mapping if it passes one of its filters. ``data`` is
the record's own JSON; a pattern for it drops records whose data is not JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shardlane_lab.local_lambda.errors import FilterError
from shardlane_lab.local_lambda.kinesis_record import Record

_MISSING = object()
_NOT_JSON = object()
_COMPARISONS = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}
_RULES = ("prefix", "suffix", "anything-but", "equals-ignore-case", "exists", "numeric")
METADATA = (
    "kinesisSchemaVersion",
    "partitionKey",
    "sequenceNumber",
    "approximateArrivalTimestamp",
)


class Filters:
    """Checked when made; raises ``FilterError`` for what the service refuses."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [_parsed(pattern) for pattern in patterns]
        self._reads_data = any("data" in _names(pattern) for pattern in self._patterns)

    def keep(self, record: Record) -> bool:
        if not self._patterns:
            return True
        view = _view(record, self._reads_data)
        return any(_matches(pattern, view) for pattern in self._patterns)


def _view(record: Record, with_data: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "kinesisSchemaVersion": "1.0",
        "partitionKey": record.partition_key,
        "sequenceNumber": record.sequence_number,
        "approximateArrivalTimestamp": record.arrival_ms / 1000.0,
    }
    if with_data:
        view["data"] = _data(record.data)
    return view


def _data(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return _NOT_JSON


def _matches(pattern: Mapping[str, Any], value: Any) -> bool:
    """Every name of the pattern; ``$or`` needs one of its patterns."""
    if not isinstance(value, Mapping):
        return False
    for name, expected in pattern.items():
        if name == "$or":
            if not any(_matches(each, value) for each in expected):
                return False
        elif not _member_matches(expected, value.get(name, _MISSING)):
            return False
    return True


def _member_matches(expected: Any, value: Any) -> bool:
    if value is _NOT_JSON:
        return False
    if isinstance(expected, Mapping):
        return _matches(expected, value)
    values = value if isinstance(value, list) else [value]
    return any(_passes(rule, each) for rule in expected for each in values)


def _passes(rule: Any, value: Any) -> bool:
    if not isinstance(rule, Mapping):
        return value is not _MISSING and _same(rule, value)
    name, argument = next(iter(rule.items()))
    if name == "exists":
        return (value is not _MISSING and not isinstance(value, Mapping)) is argument
    if value is _MISSING:
        return False
    return _passes_named(name, argument, value)


def _passes_named(name: str, argument: Any, value: Any) -> bool:
    if name == "anything-but":
        return not any(_same(each, value) for each in _listed(argument))
    if name == "numeric":
        pairs = zip(argument[::2], argument[1::2], strict=True)
        return _is_number(value) and all(_COMPARISONS[sign](value, each) for sign, each in pairs)
    if not isinstance(value, str):
        return False
    if name == "equals-ignore-case":
        return value.casefold() == str(argument).casefold()
    matches = value.startswith if name == "prefix" else value.endswith
    return bool(matches(argument))


def _same(rule: Any, value: Any) -> bool:
    """As JSON: 1 is not true, and 1 is 1.0."""
    if isinstance(rule, bool) or isinstance(value, bool):
        return rule is value
    return bool(rule == value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _parsed(text: str) -> dict[str, Any]:
    try:
        pattern = json.loads(text)
    except ValueError as error:
        raise FilterError(f"the filter pattern {text!r} is not JSON: {error}") from error
    if not isinstance(pattern, dict):
        raise FilterError(f"the filter pattern {text!r} is not an object")
    unknown = sorted(_names(pattern) - {"data", *METADATA})
    if unknown:
        raise FilterError(
            f"the filter pattern {text!r} names {', '.join(unknown)}, "
            f"allowed: data, {', '.join(METADATA)}"
        )
    _check(pattern, text)
    _check_data(pattern, text)
    return pattern


def _names(pattern: Mapping[str, Any]) -> set[str]:
    """What a pattern asks of a record, also in its alternatives."""
    names = set(pattern) - {"$or"}
    return names.union(*(_names(each) for each in pattern.get("$or", ())))


def _check_data(pattern: Mapping[str, Any], text: str) -> None:
    if "data" in pattern and not isinstance(pattern["data"], dict):
        raise FilterError(f"the filter pattern {text!r}: data must be an object, since it is JSON")
    for each in pattern.get("$or", ()):
        _check_data(each, text)


def _check(pattern: Mapping[str, Any], text: str) -> None:
    for name, expected in pattern.items():
        if name == "$or":
            for each in expected:
                _check(each, text)
        elif isinstance(expected, Mapping):
            _check(expected, text)
        elif isinstance(expected, list) and expected:
            for rule in expected:
                _check_rule(rule, text)
        else:
            raise FilterError(f"the filter pattern {text!r}: {name} must be a list of rules")


def _check_rule(rule: Any, text: str) -> None:
    if not isinstance(rule, Mapping):
        return
    if len(rule) != 1 or next(iter(rule)) not in _RULES:
        raise FilterError(
            f"the filter pattern {text!r}: the rule {dict(rule)} is not understood, "
            f"allowed: {', '.join(_RULES)}"
        )
    name, argument = next(iter(rule.items()))
    if name == "numeric" and not _is_numeric(argument):
        raise FilterError(f"the filter pattern {text!r}: numeric takes pairs of sign and number")


def _is_numeric(argument: Any) -> bool:
    return (
        isinstance(argument, list)
        and len(argument) in (2, 4)
        and all(sign in _COMPARISONS for sign in argument[::2])
        and all(_is_number(each) for each in argument[1::2])
    )
