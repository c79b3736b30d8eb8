"""Sends a redriven record to the consumer function itself: same code, role and environment."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

from shardlane.errors import RedriveRefused, StoreUnavailable
from shardlane.parking.redrive import Answer, Sent
from shardlane.parking.redrive_marker import reason_in
from shardlane.policy import MOST_REASON_CHARACTERS

ANSWER_WAIT_S = 15
"""Waited beyond the function's own time-out: cold start and way back."""
_NOT_RUN = frozenset({RedriveRefused.__name__, StoreUnavailable.__name__})


class LambdaSend:
    """A ``Send`` that invokes a function and waits for its answer."""

    def __init__(
        self,
        function: str,
        *,
        timeout_s: float,
        client: Any = None,
        read: Callable[[Any], Sent] | None = None,
    ) -> None:
        """``function``: name or ARN, with the alias that the mapping uses. ``timeout_s``: its
        time-out. ``client``: a boto3 Lambda client that does not repeat calls. ``read``: what a
        response means; default: a ``KeyedBatchProcessor``'s."""
        self._function = function
        self._read = read or _answer
        self._client = client or boto3.client(
            "lambda",
            # Never repeated by the SDK: a second invocation would run the handler twice.
            config=Config(
                read_timeout=timeout_s + ANSWER_WAIT_S, retries={"total_max_attempts": 1}
            ),
        )

    def __call__(self, entry: dict[str, Any]) -> Sent:
        try:
            response = self._client.invoke(
                FunctionName=self._function,
                InvocationType="RequestResponse",
                Payload=json.dumps({"Records": [entry]}).encode(),
            )
            with response["Payload"] as stream:
                payload = json.loads(stream.read() or b"null")
        except ClientError as error:
            return self._refused(error)
        except EndpointConnectionError as error:
            return Sent(Answer.NOT_RUN, f"{self._function}: {error}")
        except (BotoCoreError, ValueError) as error:  # no answer in time, or none that can be read
            return Sent(Answer.UNKNOWN, f"{self._function}: {error}")
        if "FunctionError" in response:
            return _function_error(payload)
        return self._read(payload)

    def _refused(self, error: ClientError) -> Sent:
        # The service runs nothing for a 4xx (throttled, no such function, no permission); after a
        # 5xx it may have.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        answer = Answer.NOT_RUN if status < 500 else Answer.UNKNOWN
        return Sent(answer, f"{self._function}: {error}")


def _function_error(payload: Any) -> Sent:
    details = payload if isinstance(payload, dict) else {}
    kind = str(details.get("errorType", "FunctionError"))
    reason = f"{kind}: {details.get('errorMessage', '')}"[:MOST_REASON_CHARACTERS]
    return Sent(Answer.NOT_RUN if kind in _NOT_RUN else Answer.FAILED, reason)


def _answer(payload: Any) -> Sent:
    known, reason = reason_in(payload)
    if not known:
        return Sent(
            Answer.NOT_RUN,
            "the function's answer is not a KeyedBatchProcessor's: it has to return what "
            "process_partial_response returns",
        )
    if payload.get("batchItemFailures"):
        return Sent(Answer.FAILED, reason or "not settled")
    return Sent(Answer.HANDLED)
