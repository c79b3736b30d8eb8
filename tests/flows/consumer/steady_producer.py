"""Numbered records at a steady rate, from a thread, with ``shardlane.producer``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from shardlane.consumer import Boto3Kinesis
from shardlane.producer import Outgoing, Producer

_BATCH_S = 0.1


class SteadyProducer:
    """Sends ``rate_per_s`` records a second, each with the next number, over ``keys`` keys in
    turn; a send that takes long is made up for."""

    def __init__(
        self, stream: str, variables: Mapping[str, str], *, rate_per_s: int, keys: int
    ) -> None:
        self._stream = stream
        self._options: dict[str, Any] = {
            "endpoint_url": variables["AWS_ENDPOINT_URL_KINESIS"],
            "region_name": variables["AWS_REGION"],
            "aws_access_key_id": variables["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": variables["AWS_SECRET_ACCESS_KEY"],
        }
        self._rate_per_s = rate_per_s
        self._keys = keys
        self._stopping = threading.Event()
        self.sent = 0
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> int:
        """Returns how many records the stream has. Raises what sending has failed with."""
        self._stopping.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self.sent

    def _run(self) -> None:
        try:
            asyncio.run(self._send())
        except BaseException as error:  # for whoever stops it
            self._failure = error

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        kinesis = Boto3Kinesis(**self._options)
        producer = Producer(self._stream, kinesis=kinesis, attempts=50)
        began_s = loop.time()
        try:
            while not self._stopping.is_set():
                due = round((loop.time() - began_s) * self._rate_per_s)
                batch = [self._outgoing(number) for number in range(self.sent, due)]
                report = await producer.send(batch)
                assert report.is_complete, report.unsent[:3]
                self.sent += len(batch)
                await asyncio.sleep(_BATCH_S)
        finally:
            await kinesis.close()

    def _outgoing(self, number: int) -> Outgoing:
        return Outgoing(str(number).encode(), f"key-{number % self._keys}")
