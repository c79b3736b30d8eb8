"""What a run on AWS tells a person when it cannot begin or go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)

from shardlane_lab.errors import LabError


class AwsError(LabError):
    """Names what is missing or refused, and what to do about it."""


_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
_STALE = ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClient")


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns what botocore raises into an ``AwsError`` of one line. ``what`` was being done."""
    try:
        yield
    except NoRegionError as error:
        raise AwsError(
            f"{what}: no region; give --region or set AWS_REGION or the profile's region"
        ) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AwsError(
            f"{what}: no credentials; configure them (aws configure, aws sso login) or give "
            "--profile"
        ) from error
    except ProfileNotFound as error:
        raise AwsError(f"{what}: {error}") from error
    except ClientError as error:
        raise AwsError(f"{what}: {_said(error)}") from error
    except BotoCoreError as error:
        raise AwsError(f"{what}: {error}") from error


def _said(error: ClientError) -> str:
    told = error.response.get("Error", {})
    code, message = told.get("Code", "refused"), told.get("Message", "")
    if code in _DENIED:
        return f"not allowed to call {error.operation_name}: {message}"
    if code.startswith(_STALE):
        return f"the credentials are not valid, or no longer: {message}"
    return f"{error.operation_name}: {code}: {message}"
