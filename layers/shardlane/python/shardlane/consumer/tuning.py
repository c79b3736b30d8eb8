"""What rarely needs to be changed, in one value."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.machine import Machine
from shardlane.consumer.terms import Terms
from shardlane.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The defaults suit production; tests and simulations bring their own machine."""

    terms: Terms = field(default_factory=Terms)
    bounds: Bounds = field(default_factory=Bounds)
    machine: Machine = field(default_factory=Machine)
    report_s: float = 60.0
    """Between two reports of the stats: CloudWatch keeps a value a minute."""

    def __post_init__(self) -> None:
        if self.report_s <= 0:
            raise SettingsError(f"report_s={self.report_s!r}: allowed is more than 0 seconds")
