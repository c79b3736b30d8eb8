"""Makes a history that breaks the contract as short as it still breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.sim.history import History


def shrunk(history: History, breaks: Callable[[History], bool], tries: int = 60) -> History:
    """Leaves out events, ever smaller pieces of them, while ``breaks`` stays true; at most
    ``tries`` histories are tried."""
    piece = max(1, len(history.events) // 2)
    while tries > 0:
        shorter = None
        for first in range(0, len(history.events), piece):
            candidate = replace(
                history, events=history.events[:first] + history.events[first + piece :]
            )
            tries -= 1
            if breaks(candidate):
                shorter = candidate
                break
            if tries <= 0:
                break
        if shorter is not None:
            history = shorter
        elif piece == 1:
            break
        piece = max(1, min(piece, len(history.events)) // (1 if shorter else 2))
    return history
