"""A text widget's Markdown as HTML. Raw HTML in it stays text."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from shardlane_lab.report.markup import Markup

_HEADINGS_BELOW = 2
"""The page has its own first and second level."""
_BUTTON = re.compile(r"\[button:(?:primary:)?")
"""CloudWatch draws such a link as a button; here it is a link."""


def text_markup(markdown: str) -> Markup:
    renderer = MarkdownIt("js-default")
    tokens = renderer.parse(_BUTTON.sub("[", markdown))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + _HEADINGS_BELOW)}"
    return Markup(renderer.renderer.render(tokens, renderer.options, {}))
