"""Everything the operations work on: the streams of one account and region, its limits, delays,
generators and the observer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.consumer import StreamConsumer
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import FaultPlan
from shardlane_lab.local_kinesis.limiter import Limiter, limiter
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.stream import Stream
from shardlane_lab.local_kinesis.token import Page
from shardlane_lab.metric import Datum, Observer, dimensions

_STREAM_ARN = re.compile(
    r"(arn:[^:]+:kinesis:[^:]*:\d{12}:stream/([^/]+))(?:/consumer/([^:/]+):(\d+))?"
)

Request = Mapping[str, Any]


class Account:
    def __init__(
        self,
        *,
        region: str,
        account: str,
        limits: Limits,
        delays: Delays,
        seed: int,
        observer: Observer | None,
    ) -> None:
        self.region = region
        self.account = account
        self.limits = limits
        self.delays = delays
        self.streams: dict[str, Stream] = {}
        self.generations: dict[int, Stream] = {}
        """Every stream there ever was, as tokens name them."""
        self.held_bytes = 0
        """Payload of all records that retention has not removed yet; see ``room_for``."""
        self.serial = 0
        self.faults = FaultPlan()
        self._seed = seed
        self._observer = observer
        self._calls: dict[str, Limiter] = {}
        self._visibility = self.random("visibility")

    # --- names ------------------------------------------------------------------------------

    def stream_arn(self, name: str) -> str:
        return f"arn:aws:kinesis:{self.region}:{self.account}:stream/{name}"

    def random(self, purpose: str) -> Random:
        """A generator of its own for each purpose, so that one more draw here changes nothing
        there."""
        return Random(f"{self._seed}/{purpose}")

    # --- finding ----------------------------------------------------------------------------

    def no_stream(self, name: str) -> errors.ServiceError:
        return errors.not_found(f"Stream {name} under account {self.account} not found.")

    def stream(self, request: Request, now_ms: float) -> Stream:
        """The stream that ``StreamName``, ``StreamARN`` or both name, with its changes settled.

        Raises ``ResourceNotFoundException``, or ``InvalidArgumentException`` if the request names
        none, or two different ones.
        """
        name, arn = request.get("StreamName"), request.get("StreamARN")
        if arn is not None:
            match = _STREAM_ARN.fullmatch(arn)
            if match is None or match[3] is not None:
                raise errors.invalid_argument(f"{arn} is not the ARN of a stream.")
            if name is not None and name != match[2]:
                raise errors.invalid_argument(
                    f"StreamName {name} does not match the stream of StreamARN {arn}."
                )
            name = match[2]
        if name is None:
            raise errors.invalid_argument("Either StreamName or StreamARN should be provided.")
        stream = self.existing(name, now_ms)
        if stream is None or (arn is not None and arn != stream.arn):
            raise self.no_stream(name)
        return stream

    def existing(self, name: str, now_ms: float) -> Stream | None:
        stream = self.streams.get(name)
        if stream is None:
            return None
        stream.settle(now_ms)
        return None if stream.gone else stream

    def usable_stream(self, request: Request, now_ms: float) -> Stream:
        """For records: a stream that is CREATING or DELETING has none."""
        stream = self.stream(request, now_ms)
        if not stream.usable:
            raise self.no_stream(stream.name)
        return stream

    def active_stream(self, request: Request, now_ms: float) -> Stream:
        """For changes: they need the status ACTIVE (``ResourceInUseException`` otherwise)."""
        stream = self.stream(request, now_ms)
        if stream.status != "ACTIVE":
            raise errors.in_use(
                f"Stream {stream.name} under account {self.account} not ACTIVE, "
                f"instead in state {stream.status}"
            )
        return stream

    def settled_streams(self, now_ms: float) -> list[Stream]:
        """By name, as ListStreams shows them."""
        found = (self.existing(name, now_ms) for name in sorted(self.streams))
        return [stream for stream in found if stream is not None]

    def consumer(self, request: Request, now_ms: float) -> tuple[Stream, StreamConsumer]:
        """By ``ConsumerARN``, or by ``StreamARN`` and ``ConsumerName``."""
        arn, name = request.get("ConsumerARN"), request.get("ConsumerName")
        if arn is None:
            if name is None or "StreamARN" not in request:
                raise errors.invalid_argument(
                    "Either ConsumerARN, or both StreamARN and ConsumerName should be provided."
                )
            stream = self.stream({"StreamARN": request["StreamARN"]}, now_ms)
            consumer = stream.consumers.get(name)
        else:
            stream, consumer = self._consumer_by_arn(arn, now_ms)
            name = arn
        if consumer is None:
            raise errors.not_found(f"Consumer {name}, account {self.account} not found.")
        return stream, consumer

    def _consumer_by_arn(self, arn: str, now_ms: float) -> tuple[Stream, StreamConsumer | None]:
        match = _STREAM_ARN.fullmatch(arn)
        if match is None or match[3] is None:
            raise errors.invalid_argument(f"{arn} is not the ARN of a consumer.")
        stream = self.stream({"StreamARN": match[1]}, now_ms)
        found = stream.consumers.get(match[3])
        return stream, found if found is not None and found.arn == arn else None

    # --- limits -----------------------------------------------------------------------------

    def admit(self, operation: str, now_ms: float) -> None:
        """Counts a control call; raises ``LimitExceededException`` over the account's rate."""
        rates = self.limits.calls_per_s
        if rates is None or operation not in rates:
            return
        calls = self._calls.get(operation)
        if calls is None:
            calls = self._calls[operation] = limiter(rates[operation])
        if not calls.allows(now_ms, 1):
            raise errors.limit_exceeded(f"Rate exceeded for {operation} of account {self.account}.")
        calls.charge(now_ms, 1)

    def room_for(self, size_bytes: int, now_ms: float) -> None:
        """Raises ``LocalKinesisMemoryFull`` if the records would not fit the memory cap, after
        retention was applied everywhere."""
        cap = self.limits.memory_bytes
        if cap is None or self.held_bytes + size_bytes <= cap:
            return
        for stream in self.streams.values():
            stream.trim(now_ms)
        self.held_bytes = sum(stream.held_bytes for stream in self.streams.values())
        if self.held_bytes + size_bytes > cap:
            raise errors.memory_full(self.held_bytes, cap)

    def check_token_life(self, token: Page, now_ms: float) -> None:
        """Raises ``ExpiredNextTokenException`` for a token older than 300 s."""
        life_s = self.limits.token_life_s
        if life_s is not None and now_ms - token.issued_ms > life_s * 1000:
            raise errors.expired_token(
                f"The NextToken was issued {int((now_ms - token.issued_ms) / 1000)} s ago and "
                f"lives {life_s:g} s: start the listing again."
            )

    def check_shard_room(self, more: int) -> None:
        """Raises ``LimitExceededException`` if ``more`` open shards are over the account's
        limit."""
        limit, present = self.limits.shards_per_account, self.open_shard_count
        if limit is None or present + more <= limit:
            return
        raise errors.limit_exceeded(
            f"This request would exceed the shard limit for the account {self.account} in "
            f"{self.region}. Current shard count for the account: {present}. Limit: {limit}. "
            f"Number of additional shards that would have resulted from this request: {more}. "
            f"Refer to the AWS Service Limits page "
            f"(https://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) for current "
            f"limits and how to request higher limits."
        )

    @property
    def open_shard_count(self) -> int:
        return sum(len(stream.open_shards) for stream in self.streams.values())

    # --- chance -----------------------------------------------------------------------------

    def visibility_ms(self) -> float:
        """Drawn for one record."""
        if self.delays.visibility_mean_ms == 0:
            return self.delays.visibility_base_ms
        return self.delays.visibility_ms(self._visibility)

    # --- metrics ----------------------------------------------------------------------------

    @property
    def observed(self) -> bool:
        """Whether anybody wants to know the metrics."""
        return self._observer is not None

    def emit(
        self, name: str, value: float, now_ms: float, unit: str = "Count", **names: str
    ) -> None:
        """One datum in the namespace ``AWS/Kinesis``; ``names`` are its dimensions."""
        if self._observer is not None:
            self._observer(Datum("AWS/Kinesis", name, dimensions(**names), value, now_ms, unit))
