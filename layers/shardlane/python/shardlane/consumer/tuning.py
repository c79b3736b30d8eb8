"""What rarely needs to be changed, in one value."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.machine import Machine
from shardlane.consumer.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The defaults suit production; tests and simulations bring their own machine."""

    terms: Terms = field(default_factory=Terms)
    bounds: Bounds = field(default_factory=Bounds)
    machine: Machine = field(default_factory=Machine)
