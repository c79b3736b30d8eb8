"""What botocore raises, as one line that says what to do."""

from __future__ import annotations

from typing import Any

import pytest
from botocore import exceptions as aws
from botocore.exceptions import ClientError

from shardlane.errors import ParkingError
from shardlane.operations.aws_errors import explained, explanation
from shardlane.operations.errors import OperationError
from shardlane.parking.aws_errors import parking_errors


def refused(code: str, message: str = "said\n  the service") -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}}
    return ClientError(response, "ListShards")


CASES: list[tuple[Exception, str]] = [
    (aws.NoCredentialsError(), "no credentials found: sign in, set AWS_PROFILE, or give --profile"),
    (
        aws.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"),
        "the credentials are incomplete: an access key needs its secret beside it",
    ),
    (aws.NoRegionError(), "no region: set AWS_REGION or give --region"),
    (
        aws.ProfileNotFound(profile="nope"),
        "The config profile (nope) could not be found; `aws configure list-profiles` lists them",
    ),
    (
        aws.EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
        'Could not connect to the endpoint URL: "http://127.0.0.1:1": is the endpoint right, and '
        "is the network there?",
    ),
    (
        aws.TokenRetrievalError(provider="sso", error_msg="expired"),
        "the sign-in has expired: sign in again",
    ),
    (refused("AccessDeniedException"), "no permission for ListShards: said the service"),
    (refused("AccessDenied", ""), "no permission for ListShards: AccessDenied"),
    (
        refused("ExpiredTokenException"),
        "the credentials have expired: sign in again (ListShards)",
    ),
    (
        refused("UnrecognizedClientException"),
        "the credentials are not known to this account and region (ListShards: "
        "UnrecognizedClientException)",
    ),
    (
        refused("ThrottlingException"),
        "ListShards is throttled; try again in a moment (said the service)",
    ),
    (
        refused("ResourceNotFoundException"),
        "ListShards: ResourceNotFoundException: said the service",
    ),
    (
        aws.HTTPClientError(error="reset\nby peer"),
        "An HTTP Client raised an unhandled exception: reset by peer",
    ),
]


@pytest.mark.parametrize(
    ("error", "text"), CASES, ids=[f"{n}-{type(e).__name__}" for n, (e, _) in enumerate(CASES)]
)
def test_each_error_is_one_line(error: Exception, text: str) -> None:
    assert explanation(error) == text
    with pytest.raises(OperationError) as caught, explained():
        raise error
    assert str(caught.value) == text
    assert caught.value.__cause__ is error


def test_a_parking_stores_error_keeps_its_place_and_is_explained() -> None:
    with pytest.raises(OperationError) as caught, explained(), parking_errors("table parking"):
        raise aws.NoCredentialsError
    assert str(caught.value).startswith("table parking: no credentials found")


def test_what_is_wrong_with_the_lot_itself_stays_what_it_is() -> None:
    with pytest.raises(ParkingError, match="is not what was parked"), explained():
        raise ParkingError("bucket payloads: k is not what was parked")
