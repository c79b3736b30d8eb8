"""The report as one page: no script, no network, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.legend import legend
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.note import notes
from shardlane_lab.report.page_head import page_head
from shardlane_lab.report.page_section import PageContent, Section, page_sections
from shardlane_lab.report.plotted_run import PlottedRun
from shardlane_lab.report.poison.figures import PoisonFigures
from shardlane_lab.report.poison.section import poison_section
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Table
from shardlane_lab.report.tables import all_tables
from shardlane_lab.report.title import run_title, short_names
from shardlane_lab.run_record import Run


def html_report(
    runs: Sequence[Run], summaries: Sequence[Summary], poison: PoisonFigures | None = None
) -> str:
    """``summaries`` are those of ``runs``, in their order. A poison comparison comes first."""
    names = short_names([summary.record for summary in summaries])
    plotted = [
        PlottedRun(number, run_title(name, summary.record), run, summary)
        for number, (name, run, summary) in enumerate(zip(names, runs, summaries, strict=True))
    ]
    tables = {table.name: table for table in all_tables(summaries)}
    page = PageContent(plotted, tables)
    first = [poison_section(poison)] if poison else []
    parts = [*first, *_parts(page, heading="h2" if poison else "h1")]
    title = ", ".join([*(["one poison record"] if poison else []), *names])
    whole = tag("html", page_head(f"Latency report: {title}"), _body(parts), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _parts(page: PageContent, heading: str) -> Sequence[Section]:
    if not page.runs:
        return ()
    return [Section("results", "Results", _results(page, heading)), *page_sections(page)]


def _body(parts: Sequence[Section]) -> Markup:
    """The first part's heading is the page's."""
    links = [tag("li", tag("a", each.link, href=f"#{each.name}")) for each in parts]
    header = tag(
        "header",
        tag("span", tag("strong", "shardlane lab"), " · latency report"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )
    main = tag("main", *(each.content for each in parts), id="main")
    footer = tag(
        "footer",
        tag(
            "p",
            "Percentiles are exact, by nearest rank. This page holds everything it shows: it "
            "loads nothing and runs no script.",
            class_="quiet",
        ),
    )
    skip = tag("a", "Skip to the results", href="#main", class_="skip")
    return tag("body", skip, header, main, footer)


def _results(page: PageContent, heading: str) -> Markup:
    summaries = [each.summary for each in page.runs]
    lead = "Arrival in the stream to receipt, in ms."
    if any(summary.published for summary in summaries):
        lead += " Under each figure the published one and the ratio to it, bold if over 25 % apart."
    return tag(
        "section",
        tag(heading, finding(summaries), class_="finding"),
        tag("p", delivery(summaries), class_="lede"),
        tag("p", lead, class_="quiet"),
        *page.table("results"),
        *_legend(page.tables.values()),
        *_notes(page.runs),
        id="results",
        aria_label="Results",
    )


def _legend(tables: Iterable[Table]) -> Sequence[Markup]:
    items = [
        tag("li", tag("b", mark), f" {basis}: {meaning}")
        for mark, basis, meaning in legend({basis for table in tables for basis in table.bases})
    ]
    return [tag("ul", *items, class_="legend quiet", aria_label="Marks")] if items else []


def _notes(runs: Sequence[PlottedRun]) -> Sequence[Markup]:
    blocks = []
    for each in runs:
        found = notes(each.summary)
        if found:
            blocks.append(tag("h3", each.title))
            blocks.append(tag("ul", *(tag("li", note) for note in found)))
    if not blocks:
        return ()
    return (tag("div", *blocks, class_="notes", role="note", aria_label="To know"),)
