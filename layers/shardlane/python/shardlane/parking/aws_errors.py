"""What an AWS call of the parking store may fail with, told apart: not now, or not like this."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from shardlane.errors import ParkingError, StoreUnavailable

_NOT_NOW = frozenset(
    {
        "InternalServerError",
        "InternalError",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Error codes and cancellation reasons after which the same call may be repeated (DynamoDB
developer guide, "Error handling"; TransactWriteItems, "CancellationReasons")."""

CONDITION_FAILED = "ConditionalCheckFailed"
"""The cancellation reason; the error of a single write has ``Exception`` at its end."""


@contextmanager
def parking_errors(where: str) -> Iterator[None]:
    """Raises what ``botocore`` raises as ``StoreUnavailable`` or ``ParkingError``."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        kind = StoreUnavailable if code in _NOT_NOW or status >= 500 else ParkingError
        raise kind(f"{where}: {error}") from error
    except HTTPClientError as error:  # no connection, or no answer in time
        raise StoreUnavailable(f"{where}: {error}") from error
    except BotoCoreError as error:
        raise ParkingError(f"{where}: {error}") from error


def condition_failed(error: ClientError) -> bool:
    """Whether a single conditional write found its condition false."""
    return bool(error.response["Error"]["Code"] == f"{CONDITION_FAILED}Exception")


def failed_conditions(error: ClientError, where: str) -> list[bool]:
    """For each write of a cancelled transaction, whether its condition was false.

    Raises ``StoreUnavailable`` if any write was in conflict or throttled: then the conditions say
    nothing about a repetition. Other errors are raised as they are.
    """
    if error.response["Error"]["Code"] != "TransactionCanceledException":
        raise error
    reasons: list[Any] = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons]
    if any(code in _NOT_NOW for code in codes):
        raise StoreUnavailable(f"{where}: transaction cancelled: {', '.join(codes)}") from error
    if any(code not in ("None", CONDITION_FAILED) for code in codes):
        raise ParkingError(f"{where}: transaction refused: {error}") from error
    return [code == CONDITION_FAILED for code in codes]
