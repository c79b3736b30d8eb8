"""The report as one page: no script, no network, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.legend import legend
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.note import notes
from shardlane_lab.report.page_head import page_head
from shardlane_lab.report.page_section import PageContent, page_sections
from shardlane_lab.report.plotted_run import PlottedRun
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Table
from shardlane_lab.report.tables import all_tables
from shardlane_lab.report.title import run_title, short_names
from shardlane_lab.run_record import Run


def html_report(runs: Sequence[Run], summaries: Sequence[Summary]) -> str:
    """``summaries`` are those of ``runs``, in their order."""
    names = short_names([summary.record for summary in summaries])
    plotted = [
        PlottedRun(number, run_title(name, summary.record), run, summary)
        for number, (name, run, summary) in enumerate(zip(names, runs, summaries, strict=True))
    ]
    tables = {table.name: table for table in all_tables(summaries)}
    body = _body(PageContent(plotted, tables))
    page = tag("html", page_head(f"Latency report: {', '.join(names)}"), body, lang="en")
    return f"<!doctype html>\n{page}\n"


def _body(page: PageContent) -> Markup:
    sections = page_sections(page)
    links = [tag("li", tag("a", "Results", href="#results"))]
    links += [tag("li", tag("a", each.link, href=f"#{each.name}")) for each in sections]
    header = tag(
        "header",
        tag("span", tag("strong", "shardlane lab"), " · latency report"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )
    main = tag("main", _results(page), *(each.content for each in sections), id="main")
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


def _results(page: PageContent) -> Markup:
    summaries = [each.summary for each in page.runs]
    lead = "Arrival in the stream to receipt, in ms."
    if any(summary.published for summary in summaries):
        lead += " Under each figure the published one and the ratio to it, bold if over 25 % apart."
    return tag(
        "section",
        tag("h1", finding(summaries)),
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
