"""What an invocation logs about its failures: one line, however many there were."""

from __future__ import annotations

from typing import Any, Protocol

from shardlane.keyed_batch import BatchOutcome, Failure


class FailureLogger(Protocol):
    """The part of a logger that is used; the standard library's and Powertools' have it."""

    def info(self, msg: Any, /, *args: Any, extra: Any = None) -> None: ...

    def warning(self, msg: Any, /, *args: Any, extra: Any = None) -> None: ...


def log_outcome(logger: FailureLogger, outcome: BatchOutcome, *, log_keys: bool) -> None:
    """A warning if records failed or none could be started, an information if the time ran out,
    else nothing.

    Never a payload, and keys only if ``log_keys``. The first few failures stand for all.
    """
    if outcome.blocked is not None:
        logger.warning(
            "none of %d records was started: %s",
            outcome.received,
            outcome.blocked,
            extra={"shardlane": _counts(outcome)},
        )
    elif outcome.failed:
        first = [_described(failure, log_keys) for failure in outcome.first_failures]
        logger.warning(
            "%d of %d records failed%s; the first: %s",
            outcome.failed,
            outcome.received,
            ", which looks like an outage" if outcome.outage else "",
            "; ".join(f"{each['sequence_number']} {each['reason']}" for each in first),
            extra={"shardlane": _counts(outcome) | {"failures": first}},
        )
    elif outcome.unsettled:
        logger.info(
            "%d of %d records are left for the next invocation: the time ran out",
            outcome.unsettled,
            outcome.received,
            extra={"shardlane": _counts(outcome)},
        )


def _counts(outcome: BatchOutcome) -> dict[str, Any]:
    return {
        "received": outcome.received,
        "handled": outcome.handled,
        "failed": outcome.failed,
        "dropped": outcome.dropped,
        "parked": outcome.parked,
        "unsettled": outcome.unsettled,
        "retries": outcome.retries,
        "outage": outcome.outage,
        "first_unsettled": outcome.first_unsettled,
    }


def _described(failure: Failure, log_keys: bool) -> dict[str, Any]:
    record = failure.record
    described: dict[str, Any] = {
        "sequence_number": record.sequence_number,
        "sub_sequence_number": record.sub_sequence_number,
        "action": failure.action.value,
        "reason": failure.reason,
        "attempts": failure.attempts,
    }
    return described | ({"key": record.partition_key} if log_keys else {})
