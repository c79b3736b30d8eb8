"""HTML that is escaped by construction."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is HTML already; a plain ``str`` is escaped wherever it is put."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | int | bool) -> Markup:
    """``<name …>children</name>``. A trailing ``_`` of an attribute goes (``class_``), other
    underscores become hyphens; True gives a bare attribute and False none."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str) -> Markup:
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if value is False:
        return ""
    return f' {name}="{escape(str(value))}"'
