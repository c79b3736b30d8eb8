"""What becomes of a record that keeps failing, and the mapping settings that go with it."""

from __future__ import annotations

from enum import StrEnum

ENDLESS_AGE_S = -1
LEAST_PARK_RETRIES = 100
BOUNDED_RETRIES = 10
BOUNDED_AGE_S = 3_600


class Policy(StrEnum):
    """The values of the environment variable ``FAILURE_POLICY``."""

    PARK = "park"
    """Store the record and its key's later ones aside; the shard goes on."""
    STOP = "stop"
    """Leave the record unfinished: the shard waits while Lambda delivers it again."""
    DROP = "drop"
    """Count it, log it, go on."""


def retry_attempts(policy: Policy, batch_size: int) -> int:
    """Of a mapping, when nobody chose another number.

    Under ``PARK`` at least one for each record of a batch: every invocation starts at least one
    record, so that invocations which only run out of time cannot use the retries up. Under the
    others few: one record that always fails would hold up its shard.
    """
    if policy is Policy.PARK:
        return max(LEAST_PARK_RETRIES, batch_size)
    return BOUNDED_RETRIES


def max_record_age_s(policy: Policy) -> int:
    """Endless under ``PARK``: an age would throw away a backlog that nobody has tried yet."""
    return ENDLESS_AGE_S if policy is Policy.PARK else BOUNDED_AGE_S
