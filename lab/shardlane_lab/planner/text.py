"""The plan on one screen of a terminal, 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from shardlane_lab.planner.cost import Cost
from shardlane_lab.planner.limits import calls_per_s
from shardlane_lab.planner.measure import GroupFigures
from shardlane_lab.planner.option import Group
from shardlane_lab.planner.plan import Plan
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.verdict import Considered, missing_machines, objections

WIDTH = 100
_HEAD = (
    f"  {'seconds':<27}{'p50':>5}{'p90':>5}{'p99':>5} {'(seeds)':<11}{'thr/min':>8}{'age':>5}"
    f"{'catch up':>9}{'inv/s':>7}{'busy':>5}{'$/month':>10}"
)
_NAMES = {
    "lambda-standard": "Lambda standard",
    "lambda-efo": "Lambda EFO",
    "boto3-efo": "boto3 EFO",
    "boto3-get-records": "boto3 polling",
}


def render(plan: Plan) -> str:
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield from _asked(plan)
    yield ""
    yield _HEAD
    for considered in plan.considered:
        yield from _rows(plan, considered)
    yield ""
    yield from _choice(plan)
    yield ""
    yield "Where the answer flips"
    for flip in plan.flips:
        yield from _wrapped(f"{flip.argument}: {flip.sentence}")
    yield ""
    yield from _known_and_not(plan)


def _asked(plan: Plan) -> Iterator[str]:
    asked, sizing = plan.question, plan.sizing
    wanted = [
        f"{asked.rate_per_s:,g} records/s of {asked.record_bytes:,} bytes",
        f"{asked.keys:,} keys",
        f"{asked.consumers} consumer{'s' if asked.consumers > 1 else ''}",
        f"handler {asked.handler_ms:g} ms",
    ]
    if asked.wanted_p99_ms is not None:
        wanted.append(f"p99 within {asked.wanted_p99_ms / 1000:g} s")
    if asked.budget_usd is not None:
        wanted.append(f"${asked.budget_usd:,g} a month")
    yield ", ".join(wanted)
    given = "as asked" if asked.shards is not None else "what the load needs"
    yield (
        f"{sizing.shards} shard{'s' if sizing.shards > 1 else ''} ({given}); the busiest takes "
        f"{sizing.busiest_share:.0%} of the load, {sizing.write_utilisation:.1%} of its write limit"
    )


def _rows(plan: Plan, considered: Considered) -> Iterator[str]:
    """One line, and one for each group of a mix."""
    option = considered.option
    start = f"{'>' if plan.choice is considered else ' '} {option.name:<27}"
    cost = _usd(plan.question, considered)
    if considered.blockers:
        yield from wrap(
            f"impossible: {'; '.join(considered.blockers)}",
            WIDTH,
            initial_indent=start,
            subsequent_indent=" " * len(start),
        )
        return
    if len(option.groups) == 1:
        yield _row(start, considered, 0, cost)
        return
    yield f"{start}{cost:>71}"
    for number, group in enumerate(option.groups):
        yield _row(f"    {_group_name(group):<25}", considered, number, "")


def _row(start: str, considered: Considered, number: int, cost: str) -> str:
    figures = considered.figures[number]
    bands = figures.handled_ms
    if not bands:
        return f"{start}  no record came"
    p50, p90, p99 = (_seconds(bands[name].median) for name in ("p50", "p90", "p99"))
    seeds = f"({_seconds(bands['p99'].low)}–{_seconds(bands['p99'].high)})"
    age = "–" if figures.iterator_age_ms is None else _seconds(figures.iterator_age_ms)
    throttled = f"{figures.throttled_per_minute:,.0f}" if _shares(considered, number) else "–"
    per_s = _rate(figures.invocations_per_s)
    return (
        f"{start}{p50:>5}{p90:>5}{p99:>5} {seeds:<11}{throttled:>8}{age:>5}"
        f"{_minutes(considered.catch_up_minutes[number]):>9}{per_s:>7}"
        f"{considered.busy(number):>5.0%}{cost:>10}"
    ).rstrip()


def _shares(considered: Considered, number: int) -> bool:
    return calls_per_s(considered.option.groups[number]) > 0


def _group_name(group: Group) -> str:
    return f"{group.count} {_NAMES[group.kind]}"


def _choice(plan: Plan) -> Iterator[str]:
    choice = plan.choice
    if choice is None:
        yield "Nothing here does what was asked:"
        for considered in plan.considered:
            found = objections(plan.question, considered)
            if found:
                yield from _wrapped(f"{considered.option.name}: {found[0]}")
        return
    yield from wrap(f"Choose: {choice.option.name}. {_because(plan, choice)}", WIDTH)
    yield from (f"  {line}" for line in _items(choice.cost))
    for number, group in enumerate(choice.option.groups):
        if group.is_mapping:
            yield from _wrapped(_settings(group, choice.figures[number]))
    if plan.runner_up is not None:
        other = plan.runner_up
        yield (
            f"The cheapest in {other.option.mode} mode: {other.option.name}, {other.cost} a month."
        )


def _because(plan: Plan, choice: Considered) -> str:
    wanted = plan.question.wanted_p99_ms
    does = "keeps up without throttling errors"
    if wanted is not None:
        does = f"has its p99 within {wanted / 1000:g} s in every seed"
    if choice.cost.unlisted:
        return (
            f"Of what {does}, it has the fewest EFO consumers; which is the cheapest cannot be "
            f"said without prices: {choice.cost} a month."
        )
    return f"The cheapest that {does}: {choice.cost} a month."


def _items(cost: Cost) -> Iterator[str]:
    for item in cost.items:
        quantity = f"{item.quantity:,.0f}" if item.quantity >= 10 else f"{item.quantity:,.2f}"
        usd = "price unknown" if item.usd is None else f"${item.usd:,.2f}"
        yield f"{item.name:<34}{quantity:>15} {item.unit:<12}{usd:>14}"


def _settings(group: Group, figures: GroupFigures) -> str:
    parts = [f"batch size {group.batch_size}", f"ParallelizationFactor {group.lanes}"]
    if group.window_ms:
        parts.append(f"batch window {group.window_ms / 1000:g} s")
    return (
        f"{_group_name(group)}: {', '.join(parts)}; {figures.concurrency:,.2f} invocations at once"
    )


def _known_and_not(plan: Plan) -> Iterator[str]:
    yield from _prices(plan)
    if any(missing_machines(plan.question, each) for each in plan.considered):
        yield "+ and the machines of the boto3 consumers (--machine-usd lets them compete)."
    yield (
        "Latency: arrival to the end of handling on the busiest shard, simulated with "
        f"{plan.question.seeds} seeds ({plan.question.calibration})."
    )
    chosen = plan.choice.outside if plan.choice else ()
    every = [clause for each in plan.considered for clause in each.outside]
    clauses = list(dict.fromkeys([*chosen, *every]))
    if clauses:
        yield from wrap(
            "Outside the measured range, so an extrapolation: " + "; ".join(clauses) + ".",
            WIDTH,
            break_on_hyphens=False,
        )
    shards = next(each.shards for each in plan.considered if each.option.mode != "provisioned")
    yield from wrap(
        f"On-demand: priced from the table; for latency it is taken to be {shards} provisioned "
        "shards, which is an assumption, since the service chooses.",
        WIDTH,
    )
    yield f"Catch up: arithmetic, after an outage of {plan.question.outage_minutes:g} minutes."


def _prices(plan: Plan) -> Iterator[str]:
    prices = plan.prices
    unknown = list(dict.fromkeys(name for each in plan.considered for name in each.cost.unlisted))
    if prices.as_of:
        yield from wrap(
            f"Prices of {plan.question.region}, {prices.as_of} ({prices.source}).", WIDTH
        )
    if unknown:
        yield from wrap(
            f"No price known in {plan.question.region} for: {'; '.join(unknown)}. Sums marked ? "
            "lack them.",
            WIDTH,
        )


def _usd(question: Question, considered: Considered) -> str:
    mark = (
        "?" if considered.cost.unlisted else ("+" if missing_machines(question, considered) else "")
    )
    return f"{considered.cost.known_usd:,.2f}{mark}"


def _seconds(milliseconds: float) -> str:
    """Four characters at most: 0.07, 1.40, 12.3, 845, and minutes from 1,000 s on: 18m."""
    seconds = milliseconds / 1000.0
    if seconds < 9.995:
        return f"{seconds:.2f}"
    if seconds < 99.95:
        return f"{seconds:.1f}"
    return f"{seconds:.0f}" if seconds < 999.5 else f"{seconds / 60:.0f}m"


def _rate(per_s: float) -> str:
    if not per_s:
        return "–"
    return f"{per_s:,.1f}" if per_s < 99.95 else f"{per_s:,.0f}"


def _minutes(minutes: float | None) -> str:
    if minutes is None:
        return "never"
    if minutes < 1:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:,.0f} min"


def _wrapped(sentence: str) -> Sequence[str]:
    return wrap(
        sentence, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
