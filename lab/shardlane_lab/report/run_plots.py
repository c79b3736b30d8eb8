"""The plots of a report, laid out run by run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shardlane_lab.gauge import Gauge
from shardlane_lab.report.consumer_summary import ConsumerSummary
from shardlane_lab.report.html_table import named_key
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.minutes import SUCCESSFUL, THROTTLED, Minute, MinuteRange
from shardlane_lab.report.palette import KINDS, MUTED, Colour
from shardlane_lab.report.plot.batch_bars import batch_plot
from shardlane_lab.report.plot.ecdf import ecdf_plot
from shardlane_lab.report.plot.gauge_line import gauge_plot
from shardlane_lab.report.plot.minute_bars import minute_plot
from shardlane_lab.report.plot.over_time import MOST_DOTS, over_time_plot
from shardlane_lab.report.plot.scale import FLOOR_MS, tick_text
from shardlane_lab.report.plotted_run import PlottedRun, common_span
from shardlane_lab.report.tables.batches import function_batches
from shardlane_lab.report.wording import count_text, duration_text, plural

PANEL = (290.0, 165.0)
WIDE = (560.0, 390.0)
SMALL = (350.0, 330.0)


def ecdf_figures(runs: Sequence[PlottedRun]) -> Markup:
    """One distribution plot a run, all on the same axis."""
    span = common_span(runs)
    figures = []
    for each in runs:
        drawn = [
            tag(
                "div",
                ecdf_plot(
                    each.summary,
                    each.latencies_ms,
                    span=span,
                    size=size,
                    name=f"ecdf-{each.number}-{variant}",
                ),
                class_=variant,
            )
            for variant, size in (("wide", WIDE), ("small", SMALL))
        ]
        figures.append(_figure(tag("h3", each.title), *drawn, _keys(each)))
    return tag("div", *figures, class_="runs")


def over_time_figures(runs: Sequence[PlottedRun]) -> Markup:
    """One panel a consumer, all on the same axis."""
    span = common_span(runs)

    def panels(each: PlottedRun) -> Iterable[Markup]:
        seconds = each.summary.record.seconds
        for place, consumer in enumerate(each.summary.consumers):
            dots = each.dots(consumer.label)
            if dots:
                plot = over_time_plot(
                    dots,
                    each.strokes[consumer.label],
                    seconds=seconds,
                    span=span,
                    size=PANEL,
                    name=f"time-{each.number}-{place}",
                    label=f"Latency of {consumer.label} over time: {_percentiles(consumer)}",
                )
                yield _figure(_named(each, consumer.label, _percentiles(consumer)), plot)

    return _by_run(runs, panels)


def batch_figures(runs: Sequence[PlottedRun]) -> Markup:
    """One panel a function."""
    found = [batches for each in runs for batches in function_batches(each.summary).values()]
    largest = max((batches.sizes[-1].size for batches in found), default=1)

    def panels(each: PlottedRun) -> Iterable[Markup]:
        for place, (label, batches) in enumerate(function_batches(each.summary).items()):
            plot = batch_plot(
                batches,
                each.strokes[label],
                largest=largest,
                size=PANEL,
                name=f"batch-{each.number}-{place}",
            )
            yield _figure(_named(each, label, f"largest {count_text(batches.largest.value)}"), plot)

    return _by_run(runs, panels)


def minute_figures(runs: Sequence[PlottedRun]) -> Markup:
    """Successful and throttled reads of each run."""
    successful = _Counts(SUCCESSFUL, "reads", lambda minute: minute.successful, MUTED)
    pollers = KINDS["boto3-get-records"]
    throttled = _Counts(THROTTLED, "throttles", lambda minute: minute.throttled, pollers)

    def panels(each: PlottedRun) -> Iterable[Markup]:
        if each.summary.minutes:
            yield _minute_figure(each, successful, runs)
            yield _minute_figure(each, throttled, runs)

    return _by_run(runs, panels)


def gauge_figures(runs: Sequence[PlottedRun]) -> Markup:
    """Channel depth and lag of each consumer that says how it does."""
    depth = _Gauged(
        "channel", lambda gauge: gauge.channel_depth, lambda value: f"{value:g}", count_text
    )
    lag = _Gauged("lag", lambda gauge: gauge.lag_ms, tick_text, duration_text)

    def panels(each: PlottedRun) -> Iterable[Markup]:
        for place, label in enumerate(each.gauges):
            yield _gauge_figure(each, label, depth, runs, f"channel-{each.number}-{place}")
            yield _gauge_figure(each, label, lag, runs, f"lag-{each.number}-{place}")

    return _by_run(runs, panels)


def below_the_axis(runs: Sequence[PlottedRun]) -> Sequence[str]:
    """What a logarithmic axis has no place for."""
    latencies = [each for run in runs for values in run.latencies_ms.values() for each in values]
    below = sum(latency_ms < FLOOR_MS for latency_ms in latencies)
    if not below:
        return ()
    return (
        f"{plural(below, 'latency', 'latencies')} below {FLOOR_MS} ms, drawn there: the axis is "
        "logarithmic.",
    )


def thinning(runs: Sequence[PlottedRun]) -> Sequence[str]:
    """What is left out of many records."""
    if max((len(each) for run in runs for each in run.samples.values()), default=0) <= MOST_DOTS:
        return ()
    return (
        f"Of more than {MOST_DOTS:,} records of a consumer the slowest hundredth is drawn whole, "
        "and of the rest as many as fit, chosen by chance.",
    )


@dataclass(frozen=True)
class _Gauged:
    noun: str
    value: Callable[[Gauge], float]
    tick: Callable[[float], str]
    write: Callable[[float], str]


def _gauge_figure(
    each: PlottedRun, label: str, gauged: _Gauged, runs: Sequence[PlottedRun], name: str
) -> Markup:
    start_ms = each.summary.record.started_ms
    points = [
        ((gauge.at_ms - start_ms) / 1000, gauged.value(gauge)) for gauge in each.gauges[label]
    ]
    everywhere = (g for run in runs for gauges in run.gauges.values() for g in gauges)
    highest = f"{gauged.noun}, at most {gauged.write(max(value for _, value in points))}"
    plot = gauge_plot(
        points,
        each.strokes[label],
        seconds=each.summary.record.seconds,
        top=max(gauged.value(gauge) for gauge in everywhere),
        write=gauged.tick,
        size=PANEL,
        name=name,
        label=f"{label}: {highest}",
    )
    return _figure(_named(each, label, highest), plot)


@dataclass(frozen=True)
class _Counts:
    metric: str
    noun: str
    value: Callable[[Minute], float]
    colour: Colour


def _minute_figure(each: PlottedRun, counts: _Counts, runs: Sequence[PlottedRun]) -> Markup:
    rows = each.summary.minutes.each if each.summary.minutes else ()
    found = _range_of(each, counts.metric)
    published = found.published if found else None
    mean = f"mean {found.mean.value:,.0f} a minute" if found and found.mean.value else "none"
    plot = minute_plot(
        [(minute.number, counts.value(minute), minute.whole) for minute in rows],
        published,
        colour=counts.colour,
        top=_top(counts, runs),
        size=PANEL,
        name=f"{counts.noun}-{each.number}",
        label=f"{counts.metric} per minute, {mean}",
    )
    beside = (
        f", published {count_text(published[0])}–{count_text(published[1])}" if published else ""
    )
    return _figure(tag("figcaption", counts.metric, _quiet(f"{mean}{beside}")), plot)


def _range_of(each: PlottedRun, metric: str) -> MinuteRange | None:
    if each.summary.minutes is None:
        return None
    return next((row for row in each.summary.minutes.ranges if row.metric == metric), None)


def _top(counts: _Counts, runs: Sequence[PlottedRun]) -> float:
    values = [
        counts.value(minute)
        for each in runs
        if each.summary.minutes
        for minute in each.summary.minutes.each
    ]
    for each in runs:
        found = _range_of(each, counts.metric)
        values += found.published if found and found.published else ()
    return max(values, default=1.0)


def _by_run(runs: Sequence[PlottedRun], panels: Callable[[PlottedRun], Iterable[Markup]]) -> Markup:
    blocks = []
    for each in runs:
        drawn = list(panels(each))
        if drawn:
            title = tag("h3", each.title, class_="run-title")
            blocks.append(tag("div", title, tag("div", *drawn, class_="panels")))
    return tag("div", *blocks, class_="runs")


def _percentiles(consumer: ConsumerSummary) -> str:
    p50, p99 = consumer.latency["p50"].value, consumer.latency["p99"].value
    if p50 is None or p99 is None:
        return ""
    return f"p50 {duration_text(p50)}, p99 {duration_text(p99)}"


def _figure(*parts: Markup) -> Markup:
    return tag("figure", *parts)


def _named(each: PlottedRun, label: str, more: str) -> Markup:
    return tag("figcaption", named_key(label, each.strokes[label]), _quiet(more))


def _quiet(text: str) -> Markup:
    return tag("span", text, class_="quiet")


def _keys(each: PlottedRun) -> Markup:
    items = [tag("li", named_key(label, stroke)) for label, stroke in each.strokes.items()]
    return tag("ul", *items, class_="keys", aria_label="Consumers")
