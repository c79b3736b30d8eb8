"""The live display of a run: a table redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from shardlane_lab.collector import Collector
from shardlane_lab.percentile import percentile

REDRAW_PER_S = 4
LINE_EVERY_S = 10.0
RECENT = 200
"""The percentiles shown live are of each consumer's last so many records."""


class Progress:
    """A context manager around one run; ``update`` is cheap to call often."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(stderr=True)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._drawn_s = float("-inf")
        self._begun_s: float | None = None
        """When the first record had just been sent."""

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, what: str) -> None:
        """One line that stays."""
        self._console.print(f"[bold]{self._title}[/bold] · {what}", highlight=False)

    def update(self, collector: Collector, elapsed_s: float, seconds: float) -> None:
        now_s = time.monotonic()
        if self._begun_s is None and elapsed_s > 0:
            self._begun_s = now_s
        if self._console.is_terminal:
            if now_s - self._drawn_s >= 1 / REDRAW_PER_S:
                self._drawn_s = now_s
                self._live.update(self._view(collector, elapsed_s, seconds), refresh=True)
        elif now_s - self._drawn_s >= LINE_EVERY_S:
            self._drawn_s = now_s
            self.say(
                f"{min(elapsed_s, seconds):.0f} of {seconds:.0f} s, {len(collector.sent)} sent, "
                f"{collector.received} received, {self._estimate(elapsed_s, seconds)}"
            )

    def _estimate(self, elapsed_s: float, seconds: float) -> str:
        """In this machine's time: virtual time passes as fast as the machine allows."""
        left_s = seconds - elapsed_s
        if left_s <= 0:
            return "waiting for the last records"
        if elapsed_s <= 0 or self._begun_s is None:
            return f"{left_s:.0f} s left"
        return f"{left_s * (time.monotonic() - self._begun_s) / elapsed_s:.0f} s left"

    def _view(self, collector: Collector, elapsed_s: float, seconds: float) -> Group:
        tail = self._estimate(elapsed_s, seconds)
        head = Text.assemble((self._title, "bold"), f" · {len(collector.sent)} sent · {tail}")
        bar = ProgressBar(total=seconds, completed=min(elapsed_s, seconds), width=60)
        return Group(head, bar, _table(collector))


def _table(collector: Collector) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("consumer")
    for heading in ("received", "to come", "p50 ms", "p99 ms", "throttled"):
        table.add_column(heading, justify="right")
    for label, samples in collector.samples.items():
        latencies = sorted(sample.arrival_to_receive_ms for sample in samples[-RECENT:])
        p50, p99 = (
            (f"{percentile(latencies, 50):.0f}", f"{percentile(latencies, 99):.0f}")
            if latencies
            else ("–", "–")
        )
        table.add_row(
            label,
            str(len(samples)),
            str(collector.missing(label)),
            p50,
            p99,
            str(collector.surfaced_throttles[label] or ""),
        )
    return table
