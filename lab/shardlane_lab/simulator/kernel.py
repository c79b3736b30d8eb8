"""The event loop of the model: whoever is due next acts, and says when it is due again."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Protocol


class Actor(Protocol):
    def act(self, now_ms: float) -> float:
        """Does what is due at ``now_ms`` and returns when it is due again, later than that."""
        ...


class Kernel:
    """Actors that are due at the same moment act in their order: same input, same course."""

    def __init__(self, actors: Sequence[Actor], starts_ms: Sequence[float]) -> None:
        self._acts: list[Callable[[float], float]] = [actor.act for actor in actors]
        self._due = [(start_ms, number) for number, start_ms in enumerate(starts_ms)]
        heapq.heapify(self._due)

    def run(self, until_ms: float) -> None:
        """Lets every actor act that is due before ``until_ms``; may be called again with a later
        time."""
        due, acts, replace = self._due, self._acts, heapq.heapreplace
        while due and due[0][0] < until_ms:
            now_ms, number = due[0]
            replace(due, (acts[number](now_ms), number))
