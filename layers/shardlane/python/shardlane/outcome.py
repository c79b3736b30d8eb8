"""What a handler may say about its record, other than returning or failing."""

from __future__ import annotations


class Outcome(Exception):
    """Raised by a handler to settle its record at once, without further attempts."""

    def __init__(self, reason: str) -> None:
        """``reason`` is stored and logged: it must hold neither payload nor key."""
        if not reason:
            raise ValueError(f"{type(self).__name__} needs a reason: say why, in a few words")
        super().__init__(reason)
        self.reason = reason


class Drop(Outcome):
    """The record is to be forgotten: counted and logged, never handled again."""


class Park(Outcome):
    """The record is to be parked now, and its key with it. Without a parking lot it fails."""
