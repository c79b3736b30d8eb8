"""What a breach looks like to whoever has to find its cause."""

from __future__ import annotations

from tests.sim.history import History
from tests.sim.shrink import shrunk
from tests.sim.world import play


def breach_of(history: History) -> str | None:
    """The breach, with the shortest history that still has one and what led to it; None if the
    contract is kept."""
    if play(history).breach is None:
        return None
    shortest = shrunk(history, lambda each: play(each).breach is not None)
    result = play(shortest)
    lines = [f"breach: {result.breach}", str(shortest), "trace:", *result.trace]
    return "\n".join(lines)
