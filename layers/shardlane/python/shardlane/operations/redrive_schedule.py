"""When a quarantined key is tried again: pure arithmetic on what its first record says."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.backoff import Backoff
from shardlane.errors import SettingsError
from shardlane.parking.parked import Parked


@dataclass(frozen=True, slots=True)
class RedriveSchedule:
    """The n-th attempt on a record, whoever made those before, is due when the waits after each
    of them have passed since it was parked.

    Nothing but the record's own ``parked_ms`` and ``attempts`` is needed, so that the schedule
    keeps no state of its own. A schedule that was switched off for a while makes up for it with
    one attempt a run.
    """

    first_s: float = 60.0
    """After the first failed attempt; doubled with each further one."""
    longest_s: float = 21_600.0
    """A key whose cause is mended by hand is found within six hours."""

    def __post_init__(self) -> None:
        if not 0 < self.first_s <= self.longest_s:
            raise SettingsError(
                f"first_s={self.first_s}, longest_s={self.longest_s}: allowed is "
                "0 < first_s <= longest_s"
            )

    def due_ms(self, head: Parked) -> int:
        """Epoch milliseconds from which on the key of ``head``, its first record, may be tried."""
        waits = Backoff(first_ms=self.first_s * 1000, most_ms=self.longest_s * 1000)
        return head.parked_ms + round(
            sum(waits.bound_ms(failures) for failures in range(1, head.attempts + 1))
        )
