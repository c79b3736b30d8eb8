"""What a setting may be, and how values from ``cdk.json`` become a checked dataclass.

A field that may be set carries its rule in its type: ``Annotated[int, WholeNumber(1, 10)]``. A
field without a rule, unless it is a dataclass itself, cannot be set from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Protocol, TypeVar, get_type_hints

T = TypeVar("T")


class SettingsError(ValueError):
    """A setting that is unknown or has a value that is not allowed; the text names the key, the
    value and what is allowed."""


class Rule(Protocol):
    @property
    def allowed(self) -> str:
        """What is allowed, in words, for the error."""

    def accepts(self, value: object) -> bool: ...


@dataclass(frozen=True, slots=True)
class WholeNumber:
    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def accepts(self, value: object) -> bool:
        # JSON's true is an int in Python: as a number it would be a silent 1.
        return type(value) is int and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Flag:
    @property
    def allowed(self) -> str:
        return "true or false"

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)


class OneOf:
    """One of a few values. Their types count too, so that 1 is not true."""

    def __init__(self, *values: str | int) -> None:
        self.values = values

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(repr(value) for value in self.values)

    def accepts(self, value: object) -> bool:
        return any(type(value) is type(each) and value == each for each in self.values)


@dataclass(frozen=True, slots=True)
class Text:
    pattern: str
    """A regular expression for the whole text."""
    allowed: str

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags as every service takes them (AWS General Reference, "Tag naming limits")."""

    @property
    def allowed(self) -> str:
        return (
            'an object of texts: keys of 1 to 128 characters not starting with "aws:", '
            "values of up to 256"
        )

    def accepts(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(
            isinstance(key, str)
            and 1 <= len(key) <= 128
            and not key.lower().startswith("aws:")
            and isinstance(each, str)
            and len(each) <= 256
            for key, each in value.items()
        )


def override(default: T, values: object, path: str) -> T:
    """``default``, a dataclass, with those of its fields replaced that ``values`` names.

    ``path`` is where ``values`` stands, for errors: ``stages.dev.efo``. Raises ``SettingsError``.
    """
    rules = _rules(default)
    if not isinstance(values, Mapping):
        raise SettingsError(f"{path} is {values!r}; allowed: an object with {_listed(rules)}")
    changes = {}
    for key, value in values.items():
        if key not in rules:
            raise SettingsError(
                f"{path}.{key} (value {value!r}) is not a setting; allowed: {_listed(rules)}"
            )
        changes[key] = _checked(rules[key], getattr(default, key), value, f"{path}.{key}")
    return replace(default, **changes)  # type: ignore[type-var]


def _checked(rule: Rule | None, current: object, value: object, path: str) -> Any:
    if rule is None:
        return override(current, value, path)
    if not rule.accepts(value):
        raise SettingsError(f"{path} is {value!r}; allowed: {rule.allowed}")
    return value


def _rules(default: object) -> dict[str, Rule | None]:
    """The rule of each field that may be set; ``None`` for a dataclass, whose fields have them."""
    rules: dict[str, Rule | None] = {}
    for name, hint in get_type_hints(type(default), include_extras=True).items():
        if is_dataclass(hint):
            rules[name] = None
        elif hasattr(hint, "__metadata__"):
            rules[name] = hint.__metadata__[0]
    return rules


def _listed(rules: Mapping[str, object]) -> str:
    return ", ".join(sorted(rules))
