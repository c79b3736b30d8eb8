"""The page in a real browser: nothing complains, everything is drawn, nothing overflows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shardlane_lab.report.poison.figures import write_poison
from shardlane_lab.report.write import write_report
from shardlane_lab.run_record import write_run
from tests.unit.report.chromium_pipe import Page, Scheme, chromium_page, find_chromium
from tests.unit.report.poison_by_hand import poison_by_hand
from tests.unit.report.seeded_run import seeded_run

CHROMIUM = find_chromium()

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium on the PATH (chromium, chromium-browser, google-chrome or chrome)",
    ),
    pytest.mark.slow("starts a browser"),
]

WIDTHS = (390, 1440)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

PLOTS_DRAWN = """
[...document.querySelectorAll('svg.plot')]
  .filter(plot => getComputedStyle(plot.parentElement).display !== 'none')
  .map(plot => {
    const box = plot.getBoundingClientRect();
    const drawn = [...plot.querySelectorAll('path')].some(path => {
      const style = getComputedStyle(path);
      const length = path.getTotalLength() + path.getBoundingClientRect().width;
      return style.stroke + style.fill !== 'nonenone' && length > 1;
    });
    return drawn && box.width > 200 && box.height > 100;
  })
"""
SMALLEST_PLOT_TEXT = """
Math.min(...[...document.querySelectorAll('svg.plot text')]
  .filter(text => text.getBoundingClientRect().height > 0)
  .map(text => {
    const svg = text.ownerSVGElement;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return parseFloat(getComputedStyle(text).fontSize) * scale;
  }))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_run(folder / "1", seeded_run(seconds=80))
    write_run(folder / "2", seeded_run(seconds=80, seed=2, pollers=3, published_round="2"))
    write_run(folder / "3", seeded_run(seconds=80, published_round=None, library=True))
    write_poison(folder / "poison", poison_by_hand())
    folders = [folder / name for name in ("1", "2", "3", "poison")]
    write_report(folders, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert CHROMIUM is not None
    with chromium_page(CHROMIUM, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_whole_at_every_width_and_in_both_modes(
    browser: Page, report: Path, width: int, scheme: Scheme
) -> None:
    browser.open(report, width=width, scheme=scheme)
    assert browser.complaints == []
    assert browser.requests == [report.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    drawn = browser.evaluate(PLOTS_DRAWN)
    # poison: 3; runs: the distribution, dots a consumer, batches, reads; channel and lag
    assert len(drawn) == 3 + (1 + 4 + 2 + 2) + (1 + 6 + 2 + 2) + (1 + 5 + 2 + 2 + 2)
    assert all(drawn)
    assert browser.evaluate(SMALLEST_PLOT_TEXT) >= 8.5


def test_the_mode_of_the_reader_sets_the_colours(browser: Page, report: Path) -> None:
    seen = {}
    for scheme in SCHEMES:
        browser.open(report, width=1440, scheme=scheme)
        seen[scheme] = browser.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('svg.plot text')).fill].join(' ')"
        )
    assert seen == {
        "light": "rgb(253, 253, 252) rgb(89, 98, 107)",
        "dark": "rgb(20, 23, 27) rgb(154, 164, 174)",
    }


def test_the_keyboard_reaches_the_skip_link_and_every_table(browser: Page, report: Path) -> None:
    browser.open(report, width=390)
    focused = []
    for _ in range(60):
        browser.press("Tab")
        focused.append(
            browser.evaluate(
                "(e => [e.className, e.getAttribute('aria-label'),"
                " getComputedStyle(e).outlineStyle].join('|'))(document.activeElement)"
            )
        )
    assert focused[0].startswith("skip|")
    assert {name for name in focused if name.startswith("scroll|Arrival to receive")}
    scrolls = {name for name in focused if name.startswith("scroll|")}
    assert len(scrolls) == browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => !e.closest('details')).length"
    )
    assert all(name.endswith("|solid") for name in scrolls)
