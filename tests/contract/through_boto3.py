"""The service as an unmodified boto3 sees it: over HTTP, on a port of this machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError, EventStreamError
from urllib3.exceptions import HTTPError

from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import EPOCH_MS
from tests.contract.service import EventFeed, Refused

T = TypeVar("T")

PATIENCE_S = 10.0
"""Real seconds for something that is due to come over the socket."""


class LoopThread:
    """An event loop for servers, beside the test that blocks in boto3."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE_S)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_S)
        self.loop.close()


def boto3_client(port: int, **config: Any) -> Any:
    """Without retries, which would hide what the service said, and without checks of its own."""
    return boto3.client(
        "kinesis",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(
            retries={"total_max_attempts": 1}, parameter_validation=False, read_timeout=20, **config
        ),
    )


class _Feed:
    """Reads an event stream in a thread of its own."""

    def __init__(self, stream: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.ended = False
        self.error: Refused | None = None
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for event in self._stream:
                self.events.append(event["SubscribeToShardEvent"])
        except EventStreamError as error:
            self.error = _refused(error)
        except (BotoCoreError, ParserError, HTTPError) as error:
            self.error = Refused(type(error).__name__, str(error))
        finally:
            self.ended = True
            self._stream.close()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)


def _refused(error: ClientError) -> Refused:
    return Refused(error.response["Error"]["Code"], error.response["Error"]["Message"])


class ServiceThroughBoto3:
    def __init__(self, model: Kinesis, threads: LoopThread) -> None:
        self.model = model
        self.now_ms = EPOCH_MS
        self._threads = threads
        self._server = KinesisServer(model, lambda: self.now_ms)
        self._client = boto3_client(threads.run(self._server.start()))
        self._feeds: list[_Feed] = []

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, xform_name(operation))(**request)
        except ClientError as error:
            raise _refused(error) from error
        del answer["ResponseMetadata"]
        return answer

    def subscribe(self, **request: Any) -> EventFeed:
        try:
            answer = self._client.subscribe_to_shard(**request)
        except ClientError as error:
            raise _refused(error) from error
        feed = _Feed(answer["EventStream"])
        self._feeds.append(feed)
        return feed

    def until(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, "what was due did not come"
            time.sleep(0.002)

    def settle(self) -> None:
        """One frame gap and one turn of the socket: what is due is on its way by then."""
        time.sleep(0.1)

    def advance(self, seconds: float) -> None:
        self._threads.run(self._advance(seconds * 1000))

    async def _advance(self, step_ms: float) -> None:
        self.now_ms += step_ms
        for stream in self.model.account.streams.values():
            for shard in stream.shards:
                shard.notify()  # the real loop does not know that time has jumped

    def close(self) -> None:
        self._threads.run(self._server.stop())
        for feed in self._feeds:
            feed.join()
        self._client.close()
