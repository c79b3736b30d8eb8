"""What the consumer function's answers mean to a redrive."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.response import StreamingBody

from shardlane.parking.lambda_send import ANSWER_WAIT_S, LambdaSend
from shardlane.parking.redrive import Answer, Sent

ENTRY = {"kinesis": {"sequenceNumber": "1"}}


class Function:
    """A Lambda client whose one function answers what a test says."""

    def __init__(self, answer: Any, error: str | None = None) -> None:
        self.answer = answer
        self.error = error
        self.requests: list[dict[str, Any]] = []

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        response: dict[str, Any] = {"Payload": StreamingBody(io.BytesIO(body), len(body))}
        return response | ({"FunctionError": self.error} if self.error else {})


def sent(answer: Any, error: str | None = None) -> Sent:
    return LambdaSend("order-billing", timeout_s=30, client=Function(answer, error))(ENTRY)


def client_error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Invoke")


def test_the_record_is_sent_alone_and_waited_for() -> None:
    function = Function({"batchItemFailures": [], "shardlane": {"redrive": {"reason": None}}})
    assert LambdaSend("f", timeout_s=30, client=function)(ENTRY) == Sent(Answer.HANDLED)
    (request,) = function.requests
    assert request["FunctionName"] == "f"
    assert request["InvocationType"] == "RequestResponse"
    assert json.loads(request["Payload"]) == {"Records": [ENTRY]}


def test_a_record_that_fails_brings_its_reason() -> None:
    answer = {
        "batchItemFailures": [{"itemIdentifier": "1"}],
        "shardlane": {"redrive": {"reason": "RuntimeError: boom"}},
    }
    assert sent(answer) == Sent(Answer.FAILED, "RuntimeError: boom")


@pytest.mark.parametrize("answer", [None, {}, [], {"batchItemFailures": []}, "done", b""])
def test_an_answer_that_is_not_a_processors_means_that_the_record_was_not_run(answer: Any) -> None:
    # Taken for a success, it would delete a record that nobody handled.
    found = sent(answer)
    assert found.answer is Answer.NOT_RUN
    assert "process_partial_response" in found.reason


@pytest.mark.parametrize("kind", ["RedriveRefused", "StoreUnavailable"])
def test_a_refusal_is_no_attempt(kind: str) -> None:
    found = sent({"errorType": kind, "errorMessage": "not held"}, "Unhandled")
    assert found == Sent(Answer.NOT_RUN, f"{kind}: not held")


@pytest.mark.parametrize(
    "payload",
    [
        {"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out after 30.00 seconds"},
        {"errorType": "Runtime.ExitError", "errorMessage": "exit status 139"},
        {"errorMessage": "x" * 10_000},
        None,
    ],
)
def test_an_error_of_the_function_is_a_failed_attempt(payload: Any) -> None:
    found = sent(payload, "Unhandled")
    assert found.answer is Answer.FAILED
    assert 0 < len(found.reason) <= 300


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (client_error("TooManyRequestsException", 429), Answer.NOT_RUN),
        (client_error("ResourceNotFoundException", 404), Answer.NOT_RUN),
        (client_error("AccessDeniedException", 403), Answer.NOT_RUN),
        (client_error("ServiceException", 500), Answer.UNKNOWN),
        (EndpointConnectionError(endpoint_url="https://lambda"), Answer.NOT_RUN),
        (ReadTimeoutError(endpoint_url="https://lambda"), Answer.UNKNOWN),
    ],
)
def test_what_the_service_did_not_run_is_told_from_what_it_may_have(
    error: Exception, answer: Answer
) -> None:
    found = sent(error)
    assert found.answer is answer
    assert found.reason.startswith("order-billing: ")


def test_an_answer_that_cannot_be_read_leaves_it_open() -> None:
    assert sent(b"{").answer is Answer.UNKNOWN


def test_the_sdk_never_repeats_an_invocation(credentials: None) -> None:
    client = LambdaSend("f", timeout_s=30)._client
    assert client.meta.config.retries["total_max_attempts"] == 1
    assert client.meta.config.read_timeout == 30 + ANSWER_WAIT_S
    client.close()
