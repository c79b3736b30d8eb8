"""What a breach looks like to whoever has to find its cause."""

from __future__ import annotations

from tests.histories.history import History, shrunk
from tests.histories.world import play


def breach_of(history: History) -> str | None:
    """The breaches, with the shortest history that still has one and what led to them; None if
    the contract is kept."""
    if not play(history).breaches:
        return None
    shortest = shrunk(history, lambda each: bool(play(each).breaches))
    played = play(shortest)
    return "\n".join([*played.breaches, str(shortest), "trace:", *played.trace])
