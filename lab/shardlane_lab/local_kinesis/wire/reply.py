"""What an HTTP connection offers to whoever answers a request: HTTP/1.1 and HTTP/2 alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WireRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Reply(Protocol):
    """One answer: ``send`` it whole, or ``start`` it and ``push`` parts until ``finish``."""

    closed: bool
    """The client is gone; what is sent is dropped."""
    on_closed: Callable[[], None] | None
    on_room: Callable[[], None] | None
    """Called when it is no longer ``full``."""

    @property
    def full(self) -> bool:
        """The client has not read enough of what was pushed: more would only pile up here."""
        ...

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None: ...

    def start(self, status: int, headers: Mapping[str, str]) -> None: ...

    def push(self, data: bytes) -> None:
        """One part, in one write."""
        ...

    def finish(self) -> None:
        """The clean end of a started answer."""
        ...

    def cut(self, reset: bool) -> None:
        """Breaks the connection: with a reset, or with an end of stream where none belongs."""
        ...
