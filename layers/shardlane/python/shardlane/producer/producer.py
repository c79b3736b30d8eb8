"""Sends records with PutRecords, several requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from shardlane.backoff import Backoff
from shardlane.consumer.default_kinesis import default_kinesis
from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.refusal import Refusal, meaning_of
from shardlane.consumer.stream import stream_request
from shardlane.errors import SettingsError
from shardlane.producer.outbox import Outbox
from shardlane.producer.outgoing import MIB, Acknowledged, Entry, Outgoing, Unsent

MOST_RECORD_BYTES = 10 * MIB
"""The most that a stream may be set to take (MaxRecordSizeInKiB, API Reference)."""

NO_ANSWER = "NoAnswer"
BEHIND_UNSENT = "BehindUnsent"

_CURABLE = (Refusal.THROTTLED, Refusal.PASSING, Refusal.IN_USE)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the records of one ``send``; places are those of the call."""

    acknowledged: Mapping[int, Acknowledged]
    """By place."""
    unsent: tuple[Unsent, ...]
    """In the order of the call."""
    retries: int
    """Entries that were sent once more."""

    @property
    def is_complete(self) -> bool:
        """Whether the stream has all of them."""
        return not self.unsent


class Producer:
    """Keeps the order of each key, also through retries, within a ``send``; between two of them
    the caller keeps it, by waiting for the first.

    Only the entries that failed are sent again. One whose attempts are used up is reported with
    the service's code (``NoAnswer`` if there was none), and what follows of its key with
    ``BehindUnsent``: so sending those again, in this order, breaks no order. A request without an
    answer may have arrived: a record may be in the stream twice.
    """

    def __init__(
        self,
        stream: str,
        *,
        kinesis: KinesisPort | None = None,
        attempts: int = 10,
        backoff: Backoff = Backoff(first_ms=100, most_ms=5_000),  # noqa: B008
        requests: int = 4,
        ordered: bool = True,
        max_record_bytes: int = MIB,
        random: Random | None = None,
    ) -> None:
        """``stream``: name or ARN. ``kinesis``: the port to the service, which the caller closes;
        default boto3 as the environment configures it. ``requests``: under way at once.
        ``ordered=False`` sends a key's records without waiting for one another.
        ``max_record_bytes``: what the stream takes, data and key.

        Raises ``SettingsError``.
        """
        if not stream:
            raise SettingsError("a producer needs the name or the ARN of a stream")
        _check("attempts", attempts, 1, 1_000)
        _check("requests", requests, 1, 64)
        _check("max_record_bytes", max_record_bytes, 1, MOST_RECORD_BYTES)
        self._stream = stream_request(stream)
        self._given = kinesis
        self._kinesis = kinesis
        self._attempts = attempts
        self._backoff = backoff
        self._requests = requests
        self._ordered = ordered
        self._most_bytes = max_record_bytes
        self._random = random if random is not None else Random()

    async def send(self, records: Iterable[Outgoing]) -> Report:
        """Returns once each is acknowledged or given up on. Raises ``BadRecord``, before anything
        is sent, if one of them is no record that a stream takes."""
        entries = [Entry(index, each, self._most_bytes) for index, each in enumerate(records)]
        if self._kinesis is None:
            self._kinesis = default_kinesis()
        call = _Call(self._kinesis, self._stream, Outbox(entries, ordered=self._ordered), self)
        return await call.run()

    async def close(self) -> None:
        """Frees connections and threads, if no port was given."""
        if self._kinesis is not None and self._given is None:
            await self._kinesis.close()
            self._kinesis = None

    # --- for a call -------------------------------------------------------------------------

    @property
    def requests(self) -> int:
        return self._requests

    def draw(self) -> float:
        """Random in [0, 1)."""
        return self._random.random()

    def wait_s(self, failures: int, draw: float) -> float | None:
        """Before the next attempt; None if there is none."""
        if failures >= self._attempts:
            return None
        return self._backoff.wait_ms(failures, draw) / 1000


class _Call:
    """One ``send``."""

    def __init__(
        self, kinesis: KinesisPort, stream: Mapping[str, str], outbox: Outbox, producer: Producer
    ) -> None:
        self._kinesis = kinesis
        self._stream = stream
        self._outbox = outbox
        self._producer = producer
        self._acknowledged: dict[int, Acknowledged] = {}
        self._unsent: list[Unsent] = []
        self._retries = 0

    async def run(self) -> Report:
        loop, outbox = asyncio.get_running_loop(), self._outbox
        under_way: set[asyncio.Task[None]] = set()
        try:
            while not outbox.is_done:
                while len(under_way) < self._producer.requests and (
                    batch := outbox.take(loop.time())
                ):
                    under_way.add(asyncio.create_task(self._put(batch)))
                under_way = await self._some_done(under_way, loop.time())
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        self._unsent.sort(key=lambda each: each.index)
        return Report(self._acknowledged, tuple(self._unsent), self._retries)

    async def _some_done(
        self, under_way: set[asyncio.Task[None]], now_s: float
    ) -> set[asyncio.Task[None]]:
        """Waits for an answer, or for the end of a wait; returns the requests still under way."""
        due_s = self._outbox.next_due_s()
        wait_s = None if due_s is None else max(0.0, due_s - now_s)
        if not under_way:
            await asyncio.sleep(wait_s or 0.0)
            return under_way
        if len(under_way) >= self._producer.requests:
            wait_s = None  # whatever is due would have to wait for one of them
        done, left = await asyncio.wait(
            under_way, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
        return left

    async def _put(self, batch: list[Entry]) -> None:
        request = {**self._stream, "Records": [entry.request() for entry in batch]}
        self._retries += sum(entry.failures > 0 for entry in batch)
        draw = self._producer.draw()  # one for all: what failed together goes together again
        try:
            answer = await self._kinesis.call("PutRecords", request)
        except KinesisRefused as refusal:
            curable = meaning_of(refusal) in _CURABLE
            for entry in batch:
                self._failed(entry, refusal.code, str(refusal), draw, curable=curable)
        except KinesisUnreachable as error:
            for entry in batch:
                self._failed(entry, NO_ANSWER, str(error), draw)
        else:
            for entry, result in zip(batch, answer["Records"], strict=True):
                self._answered(entry, result, draw)

    def _answered(self, entry: Entry, result: Mapping[str, Any], draw: float) -> None:
        code = result.get("ErrorCode")
        if code:
            self._failed(entry, str(code), str(result.get("ErrorMessage", "")), draw)
            return
        self._acknowledged[entry.index] = Acknowledged(result["ShardId"], result["SequenceNumber"])
        self._outbox.acknowledged(entry)

    def _failed(
        self, entry: Entry, code: str, message: str, draw: float, *, curable: bool = True
    ) -> None:
        entry.failures += 1
        wait_s = self._producer.wait_s(entry.failures, draw) if curable else None
        if wait_s is not None:
            self._outbox.failed(entry, asyncio.get_running_loop().time() + wait_s)
            return
        self._unsent.append(Unsent(entry.index, entry.failures, code, message))
        why = f"record {entry.index} of the same key was not sent"
        for each in self._outbox.given_up(entry):
            self._unsent.append(Unsent(each.index, each.failures, BEHIND_UNSENT, why))


def _check(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"{name}={value!r}: allowed are {least} to {most}")
