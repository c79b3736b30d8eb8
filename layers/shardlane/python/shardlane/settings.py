"""The environment of a shardlane function as one frozen value, checked before any work.

A field is read from the environment variable of the same name in capitals. ``os.environ`` itself
is read in handler files only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shardlane.drivers import MOST_WORKERS
from shardlane.errors import SettingsError
from shardlane.policy import FailurePolicy

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMESPACE = re.compile(r"[A-Za-z0-9._/#:-]{1,255}")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_POLICIES = ("stop", "park", "drop")
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """Settings of a deployed function; ``from_environ`` reads them."""

    label: str
    """Names this consumer in samples and as a metric dimension, e.g. ``lambda-efo``."""
    powertools_service_name: str
    """Powertools' service: a key of every log line and the first metric dimension."""
    powertools_metrics_namespace: str
    """The CloudWatch namespace of the function's own metrics."""
    workers: int = 1
    """Handlers at once, 1 to 256; 1 is sequential and starts no thread."""
    log_keys: bool = False
    """Whether partition keys may appear in logs: they may be personal data, so off by default."""
    powertools_log_level: str = "INFO"
    failure_policy: str = "stop"
    """What becomes of a record that keeps failing: ``stop``, ``park`` or ``drop``."""
    parking_table: str | None = None
    """The parking lot's table; ``park`` needs it."""
    parking_consumer: str | None = None
    """This mapping's own name in the lot; ``park`` needs it."""
    parking_bucket: str | None = None
    """For payloads that no item can hold; unset or empty for none."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> FunctionSettings:
        """Raises ``SettingsError`` naming the variable and what is allowed."""
        return cls(
            label=_matching(environ, "LABEL", _LABEL, "1 to 64 of A-Z a-z 0-9 . _ -"),
            powertools_service_name=_matching(
                environ, "POWERTOOLS_SERVICE_NAME", _LABEL, "1 to 64 of A-Z a-z 0-9 . _ -"
            ),
            powertools_metrics_namespace=_matching(
                environ,
                "POWERTOOLS_METRICS_NAMESPACE",
                _NAMESPACE,
                "1 to 255 of A-Z a-z 0-9 . - _ / # :",
            ),
            workers=_whole_number(environ, "WORKERS", default=1, most=MOST_WORKERS),
            log_keys=_switch(environ, "LOG_KEYS"),
            powertools_log_level=_level(environ, "POWERTOOLS_LOG_LEVEL"),
            failure_policy=_policy(environ),
            parking_table=environ.get("PARKING_TABLE") or None,
            parking_consumer=environ.get("PARKING_CONSUMER") or None,
            parking_bucket=environ.get("PARKING_BUCKET") or None,
        )


def failure_policy(environ: Mapping[str, str]) -> FailurePolicy:
    """The policy that ``FAILURE_POLICY`` names (default ``stop``), with the lot of
    ``PARKING_TABLE``, ``PARKING_CONSUMER`` and ``PARKING_BUCKET``: the variables that the CDK
    construct ``KeyedConsumer`` sets, so that a policy is swapped where the mapping is declared.

    Raises ``SettingsError`` naming the variable and what is allowed.
    """
    policy = _policy(environ)
    if policy == "stop":
        return FailurePolicy.stop()
    if policy == "drop":
        return FailurePolicy.drop()
    for name in ("PARKING_TABLE", "PARKING_CONSUMER"):
        if not environ.get(name):
            raise SettingsError(f"{name} is not set, and FAILURE_POLICY is park, which needs it")
    # Not at the top: only a function whose policy parks pays for it.
    from shardlane.parking.lot import ParkingLot

    return FailurePolicy.park(
        ParkingLot(
            table=environ["PARKING_TABLE"],
            consumer=environ["PARKING_CONSUMER"],
            bucket=environ.get("PARKING_BUCKET") or None,
        )
    )


def _policy(environ: Mapping[str, str]) -> str:
    value = environ.get("FAILURE_POLICY", "stop")
    if value not in _POLICIES:
        raise _not_allowed("FAILURE_POLICY", value, ", ".join(_POLICIES))
    return value


def _matching(environ: Mapping[str, str], name: str, pattern: re.Pattern[str], allowed: str) -> str:
    value = environ.get(name)
    if value is None:
        raise SettingsError(f"{name} is not set; allowed: {allowed}")
    if not pattern.fullmatch(value):
        raise _not_allowed(name, value, allowed)
    return value


def _whole_number(environ: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    value = environ.get(name)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= most):
        raise _not_allowed(name, value, f"a whole number from 1 to {most}")
    return int(value)


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "false")
    if value.lower() not in _SWITCH:
        raise _not_allowed(name, value, "true, false, 1 or 0")
    return _SWITCH[value.lower()]


def _level(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "INFO")
    if value.upper() not in _LEVELS:
        raise _not_allowed(name, value, ", ".join(_LEVELS))
    return value.upper()


def _not_allowed(name: str, value: str, allowed: str) -> SettingsError:
    return SettingsError(f"{name} is {value!r}; allowed: {allowed}")
