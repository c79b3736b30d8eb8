"""How long the service takes, as distributions that a seeded generator draws from.

``Delays.none()`` answers at once; ``Delays.measured()`` are the values that fit a published
measurement of the service (ap-northeast-1, 5 records/s, one shard).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from random import Random

from shardlane_lab.local_kinesis.caller import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """All in milliseconds; 0 is "at once"."""

    put_base_ms: float = 0
    """From the call to the arrival time-stamp, plus a log-normal share of …"""
    put_median_ms: float = 0
    put_sigma: float = 0
    visibility_base_ms: float = 0
    """From arrival until GetRecords can see a record, plus an exponential share of …"""
    visibility_mean_ms: float = 0
    get_records_low_ms: float = 0
    """The whole round trip of GetRecords, uniform between the two."""
    get_records_high_ms: float = 0
    push_base_ms: float = 0
    """From arrival until enhanced fan-out pushes a record, plus a uniform share up to …"""
    push_spread_ms: float = 0
    push_sigma_ms: float = 0
    """… and normal noise of this deviation."""
    push_client_ms: float = 0
    """What an SDK client sees on top of that …"""
    push_client_tail_share: float = 0
    """… and for this share of its records an exponential tail of …"""
    push_client_tail_mean_ms: float = 0
    status_change_ms: float = 0
    """How long a stream or consumer is CREATING, UPDATING or DELETING."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 0:
                raise ValueError(f"{each.name} must not be negative: {getattr(self, each.name)}")
        if self.get_records_high_ms < self.get_records_low_ms:
            raise ValueError("get_records_high_ms must not be under get_records_low_ms")
        if self.push_client_tail_share > 1:
            raise ValueError("push_client_tail_share is a share: between 0 and 1")

    @classmethod
    def none(cls) -> Delays:
        return cls()

    @classmethod
    def measured(cls) -> Delays:
        """Fitted to Round 1 of the published measurement, except ``status_change_ms``: a service
        takes seconds there, which no latency depends on."""
        return cls(
            put_base_ms=66,
            put_median_ms=5.06,
            put_sigma=1.035,
            visibility_base_ms=21,
            visibility_mean_ms=5,
            get_records_low_ms=4,
            get_records_high_ms=7,
            push_base_ms=17.5,
            push_spread_ms=102,
            push_sigma_ms=2,
            push_client_ms=7.5,
            push_client_tail_share=0.08,
            push_client_tail_mean_ms=30,
            status_change_ms=200,
        )

    def put_ms(self, random: Random) -> float:
        if self.put_median_ms == 0:
            return self.put_base_ms
        share = random.lognormvariate(math.log(self.put_median_ms), self.put_sigma)
        return self.put_base_ms + share

    def visibility_ms(self, random: Random) -> float:
        if self.visibility_mean_ms == 0:
            return self.visibility_base_ms
        return self.visibility_base_ms + random.expovariate(1 / self.visibility_mean_ms)

    def get_records_ms(self, random: Random) -> float:
        if self.get_records_high_ms == 0:
            return 0.0
        return random.uniform(self.get_records_low_ms, self.get_records_high_ms)

    def push_ms(self, random: Random, caller: Caller) -> float:
        """Never negative, whatever the noise."""
        delay_ms = self.push_base_ms
        if self.push_spread_ms:
            delay_ms += random.uniform(0, self.push_spread_ms)
        if self.push_sigma_ms:
            delay_ms += random.gauss(0, self.push_sigma_ms)
        if caller is Caller.API:
            delay_ms += self._client_ms(random)
        return max(0.0, delay_ms)

    def _client_ms(self, random: Random) -> float:
        if self.push_client_tail_share and random.random() < self.push_client_tail_share:
            return self.push_client_ms + random.expovariate(1 / self.push_client_tail_mean_ms)
        return self.push_client_ms
