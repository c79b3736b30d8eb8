"""From a matplotlib figure to SVG that lives inside a page.

The page's own variables take the place of stand-in colours, text takes the page's font, ids
are unique across all plots of the page, and numbers are as short as a screen can show.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import COLOURS, INK, MUTED, RULE

FONT_SIZE = 11.0

_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 14.0, 8.0, 36.0

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+")
_DOT = re.compile(r"M (\S+) (\S+) L \1 \2 ")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_UNTURNED = re.compile(r"^rotate\(-?0 ")
_VARIABLES = {each.stand_in: each.css for each in COLOURS}

_STYLE: dict[Any, Any] = {  # matplotlib types every key as a literal of its own
    "svg.fonttype": "none",  # text stays text: the page's font, and readable by a screen reader
    "path.simplify": False,  # it drops the zero-length strokes that draw a dot
    "font.size": FONT_SIZE,
    "axes.facecolor": "none",
    "axes.edgecolor": RULE.stand_in,
    "axes.labelcolor": MUTED.stand_in,
    "axes.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "grid.color": RULE.stand_in,
    "grid.linewidth": 0.8,
    "text.color": INK.stand_in,
    "xtick.color": RULE.stand_in,
    "ytick.color": RULE.stand_in,
    "xtick.labelcolor": MUTED.stand_in,
    "ytick.labelcolor": MUTED.stand_in,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
    "lines.solid_capstyle": "round",
}


@contextmanager
def plot_style() -> Iterator[None]:
    """Figures are drawn and written inside this; nothing of the process's settings is used."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def blank(
    width: float,
    height: float,
    *,
    left: float = _LEFT,
    right: float = _RIGHT,
    bottom: float = _BOTTOM,
) -> tuple[Figure, Axes]:
    """A transparent figure with one pair of axes; sizes are the SVG's own units, pixels at scale
    1. Margins are fixed, so that plots of one size line up whatever their labels are."""
    figure = Figure(figsize=(width / 72, height / 72))
    figure.patch.set_visible(False)
    inner = (width - left - right, height - _TOP - bottom)
    axes = figure.add_axes((left / width, bottom / height, inner[0] / width, inner[1] / height))
    return figure, axes


def svg_markup(figure: Figure, *, name: str, label: str) -> Markup:
    """The figure as an ``svg`` element. ``name`` is unique in the page; ``label`` says what is
    to be seen, for those who do not see it."""
    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata=nothing)
    root = ElementTree.fromstring(written.getvalue())
    _drop_global_style(root)
    _keep_referenced_ids(root, name)
    for element in root.iter():
        _shorten(element)
        _take_page_style(element)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib |= {"role": "img", "aria-label": label, "class": "plot"}
    return Markup(_written(root))


def _written(root: ElementTree.Element) -> str:
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.tail = None
        if not (element.text or "").strip():
            element.text = None
    return ElementTree.tostring(root, encoding="unicode")


def _drop_global_style(root: ElementTree.Element) -> None:
    """matplotlib's ``* { … }`` would style the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{_SVG}}}style":
                parent.remove(child)


def _keep_referenced_ids(root: ElementTree.Element, name: str) -> None:
    references = {
        reference
        for element in root.iter()
        for value in element.attrib.values()
        for reference in _REFERENCE.findall(value)
    }
    references |= {e.attrib[_LINK].removeprefix("#") for e in root.iter() if _LINK in e.attrib}
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in references:
            element.attrib["id"] = f"{name}-{identity}"
        if _LINK in element.attrib:
            target = element.attrib.pop(_LINK).removeprefix("#")
            element.attrib["href"] = f"#{name}-{target}"
        for key, value in element.attrib.items():
            element.attrib[key] = _REFERENCE.sub(rf"url(#{name}-\1)", value)


def _shorten(element: ElementTree.Element) -> None:
    for key in ("d", "x", "y", "transform"):
        if key in element.attrib:
            short = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}", element.attrib[key])
            element.attrib[key] = short.replace(".0 ", " ")
    if "d" in element.attrib:
        path = " ".join(element.attrib["d"].split()) + " "
        element.attrib["d"] = _DOT.sub(r"M\1 \2h0", path).strip()
    if _UNTURNED.match(element.attrib.get("transform", "")):
        del element.attrib["transform"]


def _take_page_style(element: ElementTree.Element) -> None:
    style = element.attrib.get("style")
    if style is None:
        return
    for stand_in, variable in _VARIABLES.items():
        style = style.replace(stand_in, variable)
    kept = [each for each in style.split("; ") if not each.startswith("font-family")]
    element.attrib["style"] = "; ".join(kept)
