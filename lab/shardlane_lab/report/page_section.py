"""The sections of the page under its results, one a function; a section without content is None."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.report.html_table import table_markup
from shardlane_lab.report.markup import Markup, join, tag
from shardlane_lab.report.palette import Stroke
from shardlane_lab.report.plotted_run import PlottedRun
from shardlane_lab.report.run_plots import (
    batch_figures,
    below_the_axis,
    ecdf_figures,
    gauge_figures,
    minute_figures,
    over_time_figures,
    thinning,
)
from shardlane_lab.report.table import Table
from shardlane_lab.report.wording import count_text
from shardlane_lab.run_record import RunRecord


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    """Its anchor."""
    link: str
    """Its name in the navigation."""
    content: Markup


@dataclass(frozen=True)
class PageContent:
    """What the sections are made of: the runs, and the tables that have rows, by name."""

    runs: Sequence[PlottedRun]
    tables: Mapping[str, Table]

    @property
    def strokes(self) -> Mapping[str, Stroke]:
        """A label that two runs share is drawn as in the later one."""
        return {label: stroke for each in self.runs for label, stroke in each.strokes.items()}

    @property
    def received(self) -> bool:
        return any(samples for each in self.runs for samples in each.samples.values())

    def table(self, name: str) -> Sequence[Markup]:
        """The table with its remarks, or nothing."""
        if name not in self.tables:
            return ()
        table = self.tables[name]
        remarks = [tag("p", note, class_="quiet") for note in table.notes]
        return (join(table_markup(table, self.strokes), *remarks),)

    def folded(self, name: str, title: str) -> Sequence[Markup]:
        return [tag("details", tag("summary", title), part) for part in self.table(name)]


def page_sections(page: PageContent) -> Sequence[Section]:
    """In reading order."""
    made = (
        _differences(page),
        _distribution(page),
        _over_time(page),
        _batches(page),
        _reads(page),
        _gauges(page),
        _subscriptions(page),
        _sends(page),
        _clocks(page),
        _setup(page),
    )
    return [section for section in made if section is not None]


def _section(
    name: str, link: str, title: str, lead: str, parts: Iterable[Markup]
) -> Section | None:
    parts = list(parts)
    if not parts:
        return None
    heading = tag("h2", title, id=f"{name}-title")
    leads = [tag("p", lead, class_="quiet")] if lead else []
    content = tag("section", heading, *leads, *parts, id=name, aria_labelledby=f"{name}-title")
    return Section(name, link, content)


def _differences(page: PageContent) -> Section | None:
    return _section(
        "differences",
        "Differences",
        "What changed between the runs",
        "Median arrival to receive in ms, run against run.",
        page.table("differences"),
    )


def _distribution(page: PageContent) -> Section | None:
    lead = (
        "Read across: which percentile of a consumer's records came within which time. Rings are "
        "the published p50, p90 and p99."
    )
    return _section(
        "distribution",
        "Distribution",
        "How long records took",
        " ".join([lead, *below_the_axis(page.runs)]),
        [ecdf_figures(page.runs)] if page.received else [],
    )


def _over_time(page: PageContent) -> Section | None:
    return _section(
        "time",
        "Over time",
        "Every record, by when it arrived",
        " ".join(["Each dot is a record.", *thinning(page.runs), *below_the_axis(page.runs)]),
        [over_time_figures(page.runs)] if page.received else [],
    )


def _batches(page: PageContent) -> Section | None:
    plots = [batch_figures(page.runs)] if "batches" in page.tables else []
    return _section(
        "batches",
        "Batches",
        "Batch sizes of the functions",
        "Share of the records that came in batches of each size. Rings are the published shares.",
        [*plots, *page.folded("batches", "All sizes")],
    )


def _reads(page: PageContent) -> Section | None:
    plots = [minute_figures(page.runs)] if "minutes" in page.tables else []
    return _section(
        "reads",
        "Reads",
        "Reads and throttles per minute",
        "GetRecords calls of all consumers that share the stream. The band is the published range; "
        "pale bars are minutes that were not whole.",
        [*plots, *page.table("ranges"), *page.folded("minutes", "Minute by minute")],
    )


def _gauges(page: PageContent) -> Section | None:
    plots = [gauge_figures(page.runs)] if "gauges" in page.tables else []
    return _section(
        "gauges",
        "Channel",
        "Channel depth and lag of long-running consumers",
        "How many records wait in the channel, and how late the consumer is. A channel that stays "
        "full holds its readers up: back-pressure, and no record is dropped.",
        [*plots, *page.table("gauges")],
    )


def _subscriptions(page: PageContent) -> Section | None:
    return _section(
        "subscriptions",
        "Subscriptions",
        "Subscriptions of enhanced fan-out",
        "SubscribeToShard calls, and how far an event was behind the tip of its shard.",
        page.table("subscriptions"),
    )


def _sends(page: PageContent) -> Section | None:
    return _section(
        "sends",
        "Producer",
        "From the producer",
        "Send to arrival in the stream and send to receipt, in ms.",
        page.table("sends"),
    )


def _clocks(page: PageContent) -> Section | None:
    title = "Which differences cross two clocks"
    return _section("clocks", "Clocks", title, "", page.table("clocks"))


def _setup(page: PageContent) -> Section | None:
    facts = tag("div", *(_facts_of(each) for each in page.runs), class_="runs")
    return _section("setup", "Set-up", "What it ran on", "", [facts])


def _facts_of(each: PlottedRun) -> Markup:
    pairs = [*_facts(each.summary.record), *_environment(each.summary.record.environment)]
    rows = [join(tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("div", tag("h3", each.title, class_="run-title"), tag("dl", *rows))


def _environment(values: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """A row for each value; a table of values gets a row for each of its own."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name} {key}", _plain(each)) for key, each in value.items())
        else:
            yield str(name), _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " · ".join(f"{name} {each}" for name, each in _environment(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _facts(record: RunRecord) -> Sequence[tuple[str, str]]:
    facts = [
        ("target", str(record.target)),
        ("stream", record.stream),
        ("seconds", count_text(record.seconds)),
        ("records a second", count_text(record.rate_per_s)),
        ("sent", count_text(record.sent)),
        ("resends", count_text(record.resends)),
    ]
    if record.target != "simulated":
        started = datetime.fromtimestamp(record.started_ms / 1000, UTC)
        facts.append(("started", f"{started:%Y-%m-%d %H:%M:%S} UTC"))
    return facts
