"""The report as one page: no script, no network, no other file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from shardlane_lab.report.figures import (
    PlottedRun,
    batch_figures,
    drawing_notes,
    ecdf_figures,
    minute_figures,
    over_time_figures,
)
from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.html_table import table_markup
from shardlane_lab.report.legend import legend
from shardlane_lab.report.markup import Markup, join, tag
from shardlane_lab.report.note import notes
from shardlane_lab.report.palette import Stroke, custom_properties
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Table
from shardlane_lab.report.tables import all_tables
from shardlane_lab.report.title import run_title, short_names
from shardlane_lab.run_record import Run, RunRecord

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded, and the browser sees to it."""


def html_report(runs: Sequence[Run], summaries: Sequence[Summary]) -> str:
    """``summaries`` are those of ``runs``, in their order."""
    names = short_names([summary.record for summary in summaries])
    plotted = [
        PlottedRun(number, run_title(name, summary.record), run, summary)
        for number, (name, run, summary) in enumerate(zip(names, runs, summaries, strict=True))
    ]
    sections = [section for section in _sections(plotted) if section is not None]
    title = f"Latency report: {', '.join(names)}"
    page = tag("html", _head(title), _body(plotted, sections), lang="en")
    return f"<!doctype html>\n{page}\n"


Section = tuple[str, str, Markup]
"""Anchor, name in the navigation, content."""


def _sections(runs: Sequence[PlottedRun]) -> Sequence[Section | None]:
    summaries = [each.summary for each in runs]
    tables = {table.name: table for table in all_tables(summaries)}
    received = any(samples for each in runs for samples in each.samples.values())
    strokes = {label: stroke for each in runs for label, stroke in each.strokes.items()}

    def shown(name: str) -> list[Markup]:
        return [_table(tables[name], strokes)] if name in tables else []

    def section(name: str, link: str, title: str, lead: str, *parts: Markup) -> Section | None:
        if not parts:
            return None
        heading = tag("h2", title, id=f"{name}-title")
        leads = [tag("p", lead, class_="quiet")] if lead else []
        content = tag("section", heading, *leads, *parts, id=name, aria_labelledby=f"{name}-title")
        return name, link, content

    return [
        section(
            "differences",
            "Differences",
            "What changed between the runs",
            "Median arrival to receive in ms, run against run.",
            *shown("differences"),
        ),
        section(
            "distribution",
            "Distribution",
            "How long records took",
            "Read across: which percentile of a consumer's records came within which time. "
            "Rings are the published p50, p90 and p99.",
            *([ecdf_figures(runs)] if received else []),
        ),
        section(
            "time",
            "Over time",
            "Every record, by when it arrived",
            " ".join(["Each dot is a record.", *drawing_notes(runs)]),
            *([over_time_figures(runs)] if received else []),
        ),
        section(
            "batches",
            "Batches",
            "Batch sizes of the functions",
            "Share of the records that came in batches of each size. Rings are the published "
            "shares.",
            *([batch_figures(runs)] if "batches" in tables else []),
            *(_folded("All sizes", part) for part in shown("batches")),
        ),
        section(
            "reads",
            "Reads",
            "Reads and throttles per minute",
            "GetRecords calls of all consumers that share the stream. The band is the published "
            "range; pale bars are minutes that were not whole.",
            *([minute_figures(runs)] if "minutes" in tables else []),
            *shown("ranges"),
            *(_folded("Minute by minute", part) for part in shown("minutes")),
        ),
        section(
            "subscriptions",
            "Subscriptions",
            "Subscriptions of enhanced fan-out",
            "SubscribeToShard calls, and how far an event was behind the tip of its shard.",
            *shown("subscriptions"),
        ),
        section("sends", "Producer", "From the producer", "In ms.", *shown("sends")),
        section(
            "clocks",
            "Clocks",
            "Which differences cross two clocks",
            "",
            *shown("clocks"),
        ),
        section(
            "setup",
            "Set-up",
            "What it ran on",
            "",
            tag("div", *(_setup(each) for each in runs), class_="runs"),
        ),
    ]


def _head(title: str) -> Markup:
    css = files("shardlane_lab.report").joinpath("page.css").read_text("utf-8")
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
        Markup('<link rel="icon" href="data:,">'),
        tag("title", title),
        tag("style", Markup(colours + css)),
    )


def _body(runs: Sequence[PlottedRun], sections: Sequence[Section]) -> Markup:
    links = [tag("li", tag("a", "Results", href="#results"))]
    links += [tag("li", tag("a", link, href=f"#{name}")) for name, link, _ in sections]
    header = tag(
        "header",
        tag("span", tag("strong", "shardlane lab"), " · latency report"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )
    main = tag("main", _results(runs), *(content for _, _, content in sections), id="main")
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


def _results(runs: Sequence[PlottedRun]) -> Markup:
    summaries = [each.summary for each in runs]
    tables = all_tables(summaries)
    strokes = {label: stroke for each in runs for label, stroke in each.strokes.items()}
    beside = any(summary.published for summary in summaries)
    lead = "Arrival in the stream to receipt, in ms."
    if beside:
        lead += " Under each figure the published one and the ratio to it, bold if over 25 % apart."
    return tag(
        "section",
        tag("h1", finding(summaries)),
        tag("p", delivery(summaries), class_="lede"),
        tag("p", lead, class_="quiet"),
        *([_table(tables[0], strokes)] if tables else []),
        _legend(tables),
        *_notes(runs),
        id="results",
        aria_label="Results",
    )


def _table(table: Table, strokes: Mapping[str, Stroke]) -> Markup:
    remarks = [tag("p", note, class_="quiet") for note in table.notes]
    return join(table_markup(table, strokes), *remarks)


def _folded(name: str, content: Markup) -> Markup:
    return tag("details", tag("summary", name), content)


def _legend(tables: Sequence[Table]) -> Markup:
    items = [
        tag("li", tag("b", mark), f" {basis}: {meaning}")
        for mark, basis, meaning in legend({basis for table in tables for basis in table.bases})
    ]
    return tag("ul", *items, class_="legend quiet", aria_label="Marks") if items else Markup()


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


def _setup(each: PlottedRun) -> Markup:
    pairs = [*_facts(each.summary.record), *each.summary.record.environment.items()]
    rows = [join(tag("dt", str(name)), tag("dd", _plain(value))) for name, value in pairs]
    return tag("div", tag("h3", each.title, class_="run-title"), tag("dl", *rows))


def _facts(record: RunRecord) -> Sequence[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        ("target", record.target),
        ("stream", record.stream),
        ("seconds", record.seconds),
        ("records a second", record.rate_per_s),
        ("sent", record.sent),
        ("resends", record.resends),
    ]
    if record.target != "simulated":
        started = datetime.fromtimestamp(record.started_ms / 1000, UTC)
        facts.append(("started", f"{started:%Y-%m-%d %H:%M:%S} UTC"))
    return facts


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
