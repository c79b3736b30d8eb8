"""What a holder knows about one lease that it holds, and what an answer to its write means."""

from __future__ import annotations

from enum import Enum

from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Answer, Done, Refused, Unknown
from shardlane.consumer.terms import Terms


class Standing(Enum):
    """What to do after an answer."""

    WRITTEN = "written"
    ADOPTED = "adopted"
    """An earlier attempt whose answer was lost had happened; what was to be written now was not."""
    CHANGED = "changed"
    """Still mine, but a hand-over has begun: decide again."""
    UNKNOWN = "unknown"
    """Repeat at the same counter."""
    LOST = "lost"
    """Never mine again, but by a new TAKE."""


class Tenure:
    """From a TAKE to the loss or the release of a lease.

    ``fence`` is the counter that the TAKE wrote: constant for the tenure, larger for every later
    one. ``ok_s`` is the monotonic time *before* the last write that succeeded was sent, so the
    counter that others saw is never older than that.
    """

    def __init__(self, row: Lease, me: str, sent_s: float, terms: Terms) -> None:
        self.row = row
        """The lease after the last write of ours."""
        self.me = me
        self.fence = row.counter
        self.ok_s = sent_s
        self._terms = terms
        self._unknown_s: float | None = None
        """When the first of the attempts at this counter was sent whose outcome is unknown."""

    @property
    def deadline_s(self) -> float:
        """From here on no handler starts and the lease is lost, whatever the row says: others may
        find it expired soon after."""
        return self.ok_s + self._terms.ttl_s - self._terms.margin_s

    def due_s(self, *, moved: bool) -> float:
        """When to write next: soon if there is a checkpoint to write, else in time to renew."""
        terms = self._terms
        return self.ok_s + (min(terms.checkpoint_s, terms.renewal_s) if moved else terms.renewal_s)

    def judge(self, answer: Answer, sent_s: float) -> Standing:
        """Takes in the answer to a write at ``row.counter`` that was sent at ``sent_s``."""
        if isinstance(answer, Unknown):
            if self._unknown_s is None:
                self._unknown_s = sent_s
            return Standing.UNKNOWN
        if isinstance(answer, Done):
            self._stand_at(answer.row, sent_s)
            return Standing.WRITTEN
        return self._refused(answer)

    def _refused(self, answer: Refused) -> Standing:
        row = answer.row
        if row is None or not row.held_by(self.me):
            return Standing.LOST
        if row.counter == self.row.counter:
            self.row = row
            return Standing.CHANGED
        if row.counter == self.row.counter + 1 and self._unknown_s is not None:
            # Of several unknown attempts at most one has landed; which one, nobody knows: the
            # first one's time is the careful choice.
            self._stand_at(row, self._unknown_s)
            return Standing.ADOPTED
        return Standing.LOST

    def _stand_at(self, row: Lease, sent_s: float) -> None:
        self.row = row
        self.ok_s = sent_s
        self._unknown_s = None
