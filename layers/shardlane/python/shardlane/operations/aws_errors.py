"""botocore's errors as one line that says what to do. Pure, apart from the context manager."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as aws

from shardlane.errors import ParkingError
from shardlane.operations.errors import OperationError

_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "AuthorizationErrorException",
        "UnauthorizedOperation",
    }
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_UNKNOWN_CREDENTIALS = frozenset(
    {
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_THROTTLED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


@contextmanager
def explained() -> Iterator[None]:
    """Raises what botocore raises as ``OperationError``, also where a parking store has put its
    own error around it."""
    try:
        yield
    except ParkingError as error:
        cause = error.__cause__
        if not isinstance(cause, aws.BotoCoreError | aws.ClientError):
            raise
        where, _, _ = str(error).partition(": ")
        raise OperationError(f"{where}: {explanation(cause)}") from error
    except (aws.BotoCoreError, aws.ClientError) as error:
        raise OperationError(explanation(error)) from error


def is_denied(error: aws.ClientError) -> bool:
    """Whether the caller lacks a permission, and can be told what is missing without it."""
    return code_of(error) in _DENIED


def code_of(error: aws.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def explanation(error: Exception) -> str:
    """One line, without request ids and never with a credential."""
    if isinstance(error, aws.ClientError):
        return _refusal(error)
    for kind, text in _TEXTS:
        if isinstance(error, kind):
            return text.format(error=error)
    return _one_line(error)


def _refusal(error: aws.ClientError) -> str:
    code, operation = code_of(error), error.operation_name
    message = _one_line(error.response.get("Error", {}).get("Message", "") or code)
    if code in _DENIED:
        return f"no permission for {operation}: {message}"
    if code in _EXPIRED:
        return f"the credentials have expired: sign in again ({operation})"
    if code in _UNKNOWN_CREDENTIALS:
        return f"the credentials are not known to this account and region ({operation}: {code})"
    if code in _THROTTLED:
        return f"{operation} is throttled; try again in a moment ({message})"
    return f"{operation}: {code}: {message}"


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


_TEXTS: tuple[tuple[type[Exception], str], ...] = (
    (
        aws.NoCredentialsError,
        "no credentials found: sign in, set AWS_PROFILE, or give --profile",
    ),
    (
        aws.PartialCredentialsError,
        "the credentials are incomplete: an access key needs its secret beside it",
    ),
    (aws.CredentialRetrievalError, "the credentials could not be fetched: sign in again"),
    (aws.TokenRetrievalError, "the sign-in has expired: sign in again"),
    (aws.SSOError, "the sign-in has expired: sign in again"),
    (aws.NoRegionError, "no region: set AWS_REGION or give --region"),
    (aws.InvalidRegionError, "{error}"),
    (aws.ProfileNotFound, "{error}; `aws configure list-profiles` lists them"),
    (aws.EndpointConnectionError, "{error}: is the endpoint right, and is the network there?"),
    (aws.ConnectTimeoutError, "{error}: is the endpoint right, and is the network there?"),
    (aws.ParamValidationError, "{error}"),
)
