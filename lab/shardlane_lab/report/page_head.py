"""The head of a page that loads nothing and runs nothing."""

from __future__ import annotations

from importlib.resources import files

from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.palette import custom_properties

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded, and the browser sees to it."""


def page_head(title: str, *more: Markup, css: str = "") -> Markup:
    """``css`` follows the style that all pages share."""
    shared = files("shardlane_lab.report").joinpath("page.css").read_text("utf-8")
    colours = (
        f":root {{ {custom_properties('light')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {custom_properties('dark')} }} }}\n"
    )
    return tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        *more,
        Markup('<link rel="icon" href="data:,">'),
        tag("title", title),
        tag("style", Markup(colours + shared + css)),
    )
