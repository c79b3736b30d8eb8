"""The HTML page: whole, self-contained, well-formed and the same every time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from shardlane_lab.report.html import html_report
from shardlane_lab.report.markup import Markup, join, tag
from shardlane_lab.report.palette import COLOURS
from shardlane_lab.report.poison.figures import PoisonFigures
from shardlane_lab.report.summary import summarise
from shardlane_lab.run_record import Run
from tests.unit.report.poison_by_hand import poison_by_hand
from tests.unit.report.seeded_run import seeded_run

VOID = {"meta", "link", "line", "path", "use", "rect"}
MOST_BYTES = 1_500_000


class Outline(HTMLParser):
    """Every element with its attributes, and whether all of them were closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.misplaced: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name: str) -> None:
        if name in VOID:
            return
        if not self.open or self.open.pop() != name:
            self.misplaced.append(name)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for each, attributes in self.elements if each == name]


def page_of(*runs: Run, poison: PoisonFigures | None = None) -> str:
    return html_report(runs, [summarise(run) for run in runs], poison)


@pytest.fixture(scope="module")
def rounds() -> tuple[Run, Run]:
    return (
        seeded_run(seconds=80),
        seeded_run(seconds=80, seed=2, pollers=3, published_round="2"),
    )


@pytest.fixture(scope="module")
def page(rounds: tuple[Run, Run]) -> str:
    return page_of(*rounds)


@pytest.fixture(scope="module")
def page_of_one(rounds: tuple[Run, Run]) -> str:
    return page_of(rounds[0])


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


def test_the_page_is_well_formed(outline: Outline) -> None:
    assert outline.misplaced == []
    assert outline.open == []


def test_ids_are_unique_and_every_reference_has_its_target(page: str, outline: Outline) -> None:
    ids = Counter(attributes["id"] for _, attributes in outline.elements if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []
    references = re.findall(r"url\(#([^)]+)\)", page)
    for _, attributes in outline.elements:
        href = attributes.get("href") or ""
        references += [href[1:]] if href.startswith("#") else []
        references += (attributes.get("aria-labelledby") or "").split()
    assert references
    assert set(references) <= set(ids)


def test_nothing_is_loaded_and_nothing_runs(page: str, outline: Outline) -> None:
    for attributes in (attributes for _, attributes in outline.elements):
        for name in ("src", "href", "srcset", "action", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:"))
        assert not [name for name in attributes if name.startswith("on")]
    assert not outline.of("script")
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"' )]+", page)) <= {"http://www.w3.org/2000/svg"}
    policy = [each["content"] for each in outline.of("meta") if "http-equiv" in each]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_plots_take_their_colours_and_fonts_from_the_page(page: str) -> None:
    assert not [colour for colour in COLOURS if colour.stand_in in page]
    assert "var(--lambda-efo)" in page
    assert "font-family" not in page.split("</style>", 1)[1]


def test_every_plot_says_what_it_shows(outline: Outline) -> None:
    plots = [each for each in outline.of("svg") if each.get("class") == "plot"]
    # per run: the distribution twice (wide and small), dots a consumer, batches, reads
    assert len(plots) == (2 + 4 + 2 + 2) + (2 + 6 + 2 + 2)
    assert all(each["role"] == "img" and each["aria-label"] for each in plots)
    others = [each for each in outline.of("svg") if each.get("class") != "plot"]
    assert all(each["aria-hidden"] == "true" for each in others)


def test_tables_are_headed_named_and_reachable(outline: Outline) -> None:
    tables = outline.of("table")
    regions = [each for each in outline.of("div") if each.get("class") == "scroll"]
    assert len(tables) == len(outline.of("caption")) == len(regions) == 8
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in regions)
    assert {each["scope"] for each in outline.of("th")} == {"col", "row", "rowgroup"}


def test_the_finding_comes_first_and_the_skip_link_before_it(page: str, outline: Outline) -> None:
    body = page.split("<body>", 1)[1]
    assert body.startswith('<a href="#main" class="skip">')
    assert len(outline.of("h1")) == 1
    assert body.index('<h1 class="finding">Enhanced fan-out delivered at p50') < body.index(
        "<table"
    )
    assert body.index("<table") < body.index("<h2")


def test_a_poison_comparison_comes_first() -> None:
    page = page_of(seeded_run(seconds=5), poison=poison_by_hand())
    outline = Outline(page)
    assert outline.misplaced == []
    main = page.split("<main", 1)[1]
    assert main.index('<section id="poison"') < main.index('<section id="results"')
    assert len(outline.of("h1")) == 1
    assert main.index("<h1>One record that cannot be handled") < main.index("<h2")
    labels = [each["aria-label"] or "" for each in outline.of("svg") if "aria-label" in each]
    assert [label.split(":")[0] for label in labels[:3]] == [
        "PARK",
        "STOP",
        "Powertools' BatchProcessor",
    ]


def test_a_poison_comparison_stands_alone() -> None:
    outline = Outline(page_of(poison=poison_by_hand()))
    assert [each.get("id") for each in outline.of("section")] == ["poison"]


def test_channel_and_lag_are_drawn_for_consumers_that_say_how_they_do(page_of_one: str) -> None:
    page = page_of(seeded_run(seconds=5, library=True))
    labels = re.findall(r'aria-label="(shardlane-polling: [^"]+)"', page)
    assert [label.split(", at most ")[0] for label in labels] == [
        "shardlane-polling: channel",
        "shardlane-polling: lag",
    ]
    assert '<section id="gauges"' in page
    assert '<section id="gauges"' not in page_of_one


def test_several_runs_show_their_differences_and_one_does_not(page: str, page_of_one: str) -> None:
    assert 'id="differences"' in page
    assert 'id="differences"' not in page_of_one


def test_the_same_run_gives_the_same_bytes(page_of_one: str) -> None:
    assert page_of(seeded_run(seconds=80)) == page_of_one


def test_text_of_a_run_is_never_markup(rounds: tuple[Run, Run]) -> None:
    nasty = "<script>alert(1)</script> & \"quotes\" $x$ 'these'"
    run = rounds[0]
    consumers = tuple(replace(each, label=nasty + each.kind) for each in run.record.consumers)
    samples = [replace(sample, label=nasty + sample.label) for sample in run.samples]
    changed = replace(
        run.record, title=nasty, consumers=consumers, environment={nasty: [nasty], "delays": nasty}
    )
    outline = Outline(page_of(Run(changed, samples, run.statistics)))
    assert not outline.of("script")
    assert outline.misplaced == []


def test_what_a_run_ran_on_is_a_row_for_each_value() -> None:
    mapping = {"batch_size": 100, "filters": [], "retries": {"first_s": 1.0}}
    environment = {"boto3": "1.44.8", "mappings": {"lambda-efo": mapping}}
    page = page_of(seeded_run(seconds=5, environment=environment))
    assert "<dt>boto3</dt><dd>1.44.8</dd>" in page
    assert (
        "<dt>mappings lambda-efo</dt><dd>batch_size 100 · filters [] · retries first_s 1.0</dd>"
    ) in page


@pytest.mark.slow("draws a dot for each of 15,000 records, to weigh the page of a full round")
def test_a_full_round_of_five_consumers_stays_small() -> None:
    run = seeded_run(seconds=600, pollers=2, published_round="2")
    assert len(run.samples) == 15_000
    assert len(page_of(run).encode()) < MOST_BYTES


def test_markup_escapes_what_is_not_markup() -> None:
    assert tag("b", "a<b", Markup("<i></i>"), title='"x"', class_="c", hidden=True, id=False) == (
        '<b title="&quot;x&quot;" class="c" hidden>a&lt;b<i></i></b>'
    )
    assert join("&", Markup("&amp;")) == "&amp;&amp;"
