"""How far a shard has been settled, as the Kinesis Client Library stores it in a lease row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHARD_END: Final = "SHARD_END"
TRIM_HORIZON: Final = "TRIM_HORIZON"
LATEST: Final = "LATEST"
AT_TIMESTAMP: Final = "AT_TIMESTAMP"

_RANK = {TRIM_HORIZON: 0, LATEST: 1, AT_TIMESTAMP: 1, SHARD_END: 3}
_NUMBER_RANK = 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything up to and with this place is settled.

    ``value`` is a sequence number (decimal digits) or one of the four words above;
    ``sub`` is the place within an aggregated record, 0 for a plain one. A ``sub`` of −1 says that
    not even the record ``value`` itself is settled: a start *at* it.

    Source: ``ExtendedSequenceNumber`` of the Kinesis Client Library.
    """

    value: str
    sub: int = 0

    def __post_init__(self) -> None:
        if self.value not in _RANK and not (self.value.isascii() and self.value.isdigit()):
            raise ValueError(
                f"checkpoint {self.value!r}: allowed are decimal digits, {', '.join(sorted(_RANK))}"
            )

    @property
    def is_number(self) -> bool:
        return self.value not in _RANK

    @property
    def is_end(self) -> bool:
        return self.value == SHARD_END

    @property
    def place(self) -> tuple[str, int]:
        return (self.value, self.sub)

    @property
    def order(self) -> tuple[int, int, int]:
        """For comparing two checkpoints of one shard: numbers as integers, not as text."""
        if self.is_number:
            return (_NUMBER_RANK, int(self.value), self.sub)
        return (_RANK[self.value], 0, 0)


HORIZON: Final = Checkpoint(TRIM_HORIZON)
ENDED: Final = Checkpoint(SHARD_END)
