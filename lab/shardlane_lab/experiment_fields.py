"""The tables of ``docs/experiments.md``, made from the model itself:
``python -m shardlane_lab.experiment_fields`` prints them, and a test compares the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_file import table_of

_LISTED = ("consumers", "faults", "outages", "reshards", "steps", "bursts", "poison")
_SIGNS = ((Ge, "ge", "from"), (Gt, "gt", "above"), (Le, "le", "to"), (Lt, "lt", "below"))


def tables() -> str:
    """Markdown: one table of fields for each table of the file."""
    return "\n".join(_tables(Experiment, ""))


def _tables(table: type[BaseModel], path: str) -> Iterator[str]:
    doc = (table.__doc__ or "").split("\n")[0] if path else "The file itself."
    yield f"### {_heading(path)}\n\n{doc}\n"
    yield "| field | allowed | default | what it says |\n| --- | --- | --- | --- |"
    for name, field in table.model_fields.items():
        below = table_of(table, name)
        default = _default(field, below)
        allowed = _allowed(name, field, below, path)
        yield f"| `{name}` | {allowed} | {default} | {field.description} |"
    yield ""
    for name in table.model_fields:
        below = table_of(table, name)
        if below is not None:
            yield from _tables(below, f"{path}.{name}" if path else name)


def _heading(path: str) -> str:
    if not path:
        return "At the top"
    is_list = path.rpartition(".")[2] in _LISTED
    return f"`[[{path}]]`" if is_list else f"`[{path}]`"


def _allowed(name: str, field: FieldInfo, below: type[BaseModel] | None, path: str) -> str:
    if below is not None:
        return f"tables, see {_heading(f'{path}.{name}' if path else name)}"
    choices = _choices(field.annotation)
    if choices:
        return ", ".join(f"`{each}`" for each in choices)
    kind = _kind(field.annotation)
    return f"{kind} {_bounds(field)}".strip()


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(each) for each in get_args(annotation)]
    return [choice for each in get_args(annotation) for choice in _choices(each)]


def _kind(annotation: Any) -> str:
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
    for each in (annotation, *get_args(annotation)):
        if each in names:
            return names[each]
    return "text"


def _bounds(field: FieldInfo) -> str:
    parts = []
    for rule in field.metadata:
        for kind, attribute, word in _SIGNS:
            if isinstance(rule, kind):
                parts.append(f"{word} {getattr(rule, attribute):,}")
        if isinstance(rule, MinLen):
            parts.append("that is not empty")
    return " ".join(parts)


def _default(field: FieldInfo, below: type[BaseModel] | None) -> str:
    if field.is_required():
        return "needed"
    default = field.get_default(call_default_factory=True)
    if below is not None or default in (None, (), PydanticUndefined):
        return "–"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    sys.stdout.write(tables())
