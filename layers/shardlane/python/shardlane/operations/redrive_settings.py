"""The environment of the scheduled redrive function, checked before any work.

A field is read from the environment variable of the same name in capitals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shardlane.errors import SettingsError
from shardlane.operations.redrive_schedule import RedriveSchedule

LONGEST_LAMBDA_S = 900
"""The longest time-out of a function (Lambda quotas)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveSettings:
    """Settings of a deployed redrive function; ``from_environ`` reads them."""

    parking_table: str
    parking_consumer: str
    """The lot's consumer id, whose keys are redriven."""
    consumer_function: str
    """Name or ARN of the function that handles them, with the alias that the mapping uses."""
    consumer_timeout_s: int
    """The consumer function's time-out in seconds."""
    parking_bucket: str | None = None
    """The lot's bucket; unset or empty for none."""
    first_wait_s: int = 60
    """Seconds before the second attempt on a record; doubled with each further one."""
    longest_wait_s: int = 21_600

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> RedriveSettings:
        """Raises ``SettingsError`` naming the variable and what is allowed."""
        return cls(
            parking_table=_text(environ, "PARKING_TABLE", "a table's name or ARN"),
            parking_consumer=_text(environ, "PARKING_CONSUMER", "the parking lot's consumer id"),
            consumer_function=_text(environ, "CONSUMER_FUNCTION", "a function's name or ARN"),
            consumer_timeout_s=_seconds(
                environ, "CONSUMER_TIMEOUT_S", most=LONGEST_LAMBDA_S, default=None
            ),
            parking_bucket=environ.get("PARKING_BUCKET") or None,
            first_wait_s=_seconds(environ, "FIRST_WAIT_S", most=86_400, default=60),
            longest_wait_s=_seconds(environ, "LONGEST_WAIT_S", most=604_800, default=21_600),
        )

    @property
    def schedule(self) -> RedriveSchedule:
        return RedriveSchedule(first_s=self.first_wait_s, longest_s=self.longest_wait_s)


def _text(environ: Mapping[str, str], name: str, allowed: str) -> str:
    value = environ.get(name, "")
    if not value.strip():
        raise SettingsError(f"{name} is not set; allowed: {allowed}")
    return value


def _seconds(environ: Mapping[str, str], name: str, *, most: int, default: int | None) -> int:
    value = environ.get(name)
    allowed = f"a whole number of seconds from 1 to {most}"
    if value is None and default is not None:
        return default
    if value is None:
        raise SettingsError(f"{name} is not set; allowed: {allowed}")
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= most):
        raise SettingsError(f"{name} is {value!r}; allowed: {allowed}")
    return int(value)
