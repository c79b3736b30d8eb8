"""The service through boto3, and its signer. Everything that blocks is in daemon threads."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.errors import ConsumerError, KinesisRefused, KinesisUnreachable
from shardlane.consumer.event_thread import EventThread
from shardlane.consumer.kinesis_client import Clients, make_clients

_log = logging.getLogger(__name__)

MOST_CALLS = 64
"""Calls under way together; more wait for their turn."""


class Boto3Kinesis:
    """A ``KinesisPort``. Its clients are made at the first call, in a thread: loading boto3's
    models takes a while."""

    def __init__(self, *, direct: bool = True, **options: Any) -> None:
        """``options`` are those of botocore's ``create_client`` (``region_name``,
        ``endpoint_url``, …), and ``profile``.

        ``direct``: GetRecords goes out on the loop, signed by botocore, where that is possible:
        it costs less than half of a call of boto3. What patches boto3's calls (a tracer) does not
        see it; with False boto3 makes every call.
        """
        self._direct = direct
        self._options = options
        self._pool = DaemonPool("shardlane-kinesis", MOST_CALLS)
        self._making = DaemonPool("shardlane-kinesis-client", 1)
        self._clients: Clients | None = None
        self._told: tuple[str, float] | None = None
        """The Date of the newest answer, and when it came (monotonic)."""

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        clients = await self._made()
        try:
            if operation == "GetRecords" and clients.reads is not None:
                answer = await clients.reads.call(operation, request)
            else:
                method = getattr(clients.calls, _METHODS[operation])
                answer = await self._pool.run(method, **request)
        except Exception as error:  # every kind has its translation
            raise translated(error, operation) from error
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        if date is not None:
            self._told = (date, time.monotonic())
        return answer

    async def subscribe(self, request: Mapping[str, Any]) -> EventThread:
        client = (await self._made()).subscriptions
        thread = EventThread(lambda: client.subscribe_to_shard(**request), translated)
        try:
            await thread.opened()
        except BaseException:
            await thread.close()
            raise
        return thread

    def service_ms(self) -> float:
        if self._told is None:
            # AWS dates every answer; something between here and there, or a stand-in, does not.
            _log.warning("the service does not tell its time: taking this machine's clock for it")
            return time.time() * 1000
        date, told_s = self._told
        return parsedate_to_datetime(date).timestamp() * 1000 + (time.monotonic() - told_s) * 1000

    async def close(self) -> None:
        self._pool.close()
        self._making.close()
        if self._clients is not None:
            self._clients.close()

    # --- inside -----------------------------------------------------------------------------

    async def _made(self) -> Clients:
        if self._clients is None:
            self._clients = await self._making.run(self._make)
        return self._clients

    def _make(self) -> Clients:
        if self._clients is not None:
            return self._clients  # two calls were first
        try:
            return make_clients(self._options, direct=self._direct)
        except Exception as error:  # a missing region, a profile that is not there
            raise ConsumerError(f"cannot make a Kinesis client: {error}") from error


_METHODS = {
    "DescribeStreamConsumer": "describe_stream_consumer",
    "DescribeStreamSummary": "describe_stream_summary",
    "GetRecords": "get_records",
    "GetShardIterator": "get_shard_iterator",
    "ListShards": "list_shards",
    "ListStreamConsumers": "list_stream_consumers",
    "PutRecords": "put_records",
    "RegisterStreamConsumer": "register_stream_consumer",
}


def translated(error: BaseException, operation: str) -> BaseException:
    """The port's exception for one of boto3's; what is neither an answer nor a broken connection
    stays as it is.

    Source: what botocore raises for broken answers and streams, found by breaking them: its own
    errors, urllib3's, and those of its parsers.
    """
    from botocore.eventstream import ParserError
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        NoCredentialsError,
        ParamValidationError,
    )
    from botocore.parsers import ResponseParserError

    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        return KinesisRefused(told.get("Code", "Unknown"), told.get("Message", ""), operation)
    if isinstance(error, NoCredentialsError):
        return ConsumerError(f"{operation}: {error}")
    if isinstance(error, ParamValidationError):
        return ConsumerError(f"{operation}: {error}")
    broken = (BotoCoreError, ResponseParserError, ParserError, OSError, ValueError)
    of_urllib3 = type(error).__module__.startswith("urllib3.")  # botocore lets it through
    # AttributeError: what is left of a connection that was shut down during a read.
    if of_urllib3 or isinstance(error, (*broken, AttributeError)):
        return KinesisUnreachable(f"{operation}: {type(error).__name__}: {error}")
    return error
