"""When enhanced fan-out hands over a record: drawn, as nobody else's reading changes it."""

from __future__ import annotations

import numpy as np

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.simulator.arrivals import Arrivals, Times


def pushed_ms(
    arrivals: Arrivals, delays: Delays, *, sdk_client: bool, rng: np.random.Generator
) -> Times:
    """In stream order. ``sdk_client``: received by boto3 and not by Lambda."""
    count = len(arrivals)
    delay_ms = np.full(count, float(delays.push_base_ms))
    if delays.push_spread_ms:
        delay_ms += rng.uniform(0.0, delays.push_spread_ms, count)
    if delays.push_sigma_ms:
        delay_ms += rng.normal(0.0, delays.push_sigma_ms, count)
    if sdk_client:
        delay_ms += delays.push_client_ms
        late = rng.random(count) < delays.push_client_tail_share
        delay_ms += late * rng.exponential(delays.push_client_tail_mean_ms or 1.0, count)
    return np.maximum.accumulate(arrivals.written_ms + np.maximum(delay_ms, 0.0))
