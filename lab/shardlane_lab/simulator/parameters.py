"""What the model assumes about the service and the SDK, as frozen values.

Where the numbers come from: delays are ``Delays.measured()`` and polls ``PollTiming.measured()``,
the values the local service uses too, fitted to Round 1 of the published measurement
(``calibration`` shows how well each one fits that round); limits are the service's documented
quotas; retries are botocore's own constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.simulator.retry import RetryRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Everything but the load and its readers."""

    label: str
    """Of the calibration, as reports name it."""
    delays: Delays = field(default_factory=Delays.measured)
    limits: Limits = field(default_factory=Limits)
    polling: PollTiming = field(default_factory=PollTiming.measured)
    """Of a standard mapping."""
    retries: RetryRules = field(default_factory=RetryRules)
    rejected_poll_s: float = 1.0
    """With several standard mappings on a shard a poll can be refused; the next one comes after
    a uniform pause of at most this. AWS documents no number: an assumption."""
    function_overhead_ms: float = 5.0
    """Duration of an invocation apart from the handler's own time. Not measured: an assumption,
    which the published latencies do not depend on."""
    reading_before_ms: float = 3000.0
    """Every reader polls for so long before the first record is sent, as in the published run."""


H0 = Parameters(label="H0")
"""botocore's backoff as it is written."""

H1 = replace(H0, label="H1", retries=RetryRules(backoff_factor=1.29))
"""Backoff 1.29 times as long. The factor was found with Round 2 in view and nothing in botocore
explains it: a calibration, not a mechanism. (Round 1 alone asks for more than 1.0 as well:
``calibration.backoff_profile``.)"""

CALIBRATIONS = {each.label: each for each in (H0, H1)}
