"""From a request on the wire to the model and back, whatever HTTP carries it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from email.utils import formatdate

from shardlane_lab.local_kinesis.errors import ServiceError, internal_failure, unknown_operation
from shardlane_lab.local_kinesis.model import SUBSCRIBE, Kinesis, Timing
from shardlane_lab.local_kinesis.subscription import Subscription
from shardlane_lab.local_kinesis.wire.admin import administer, is_admin
from shardlane_lab.local_kinesis.wire.body import CborCodec, Codec, JsonCodec
from shardlane_lab.local_kinesis.wire.push import Push
from shardlane_lab.local_kinesis.wire.push_schedule import PushSchedule
from shardlane_lab.local_kinesis.wire.reply import Reply, WireRequest

_TARGET_PREFIX = "Kinesis_20131202."
_JSON = JsonCodec()
_CBOR = CborCodec()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was understood, and where its answer goes."""

    operation: str
    values: object
    """The body, decoded but not checked."""
    codec: Codec
    reply: Reply


class Responder:
    """Answers the requests of all connections of a server.

    ``frame_gap_ms`` is the least time between two frames of a subscription: a client in use
    (lifion-kinesis) loses frames that arrive together.
    """

    def __init__(self, model: Kinesis, wall_ms: Callable[[], float], frame_gap_ms: float) -> None:
        self._model = model
        self._wall_ms = wall_ms
        self._frame_gap_ms = frame_gap_ms
        self._schedule = PushSchedule(wall_ms)
        self._random = model.account.random("request-ids")
        self._dated = (-1, "")
        """A second of the epoch, and how HTTP writes it."""
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: WireRequest, reply: Reply) -> None:
        """Answers now, or starts a task that will."""
        if is_admin(request):
            administer(self._model, request, reply)
            return
        codec = _codec(request)
        try:
            operation = _operation(request)
            values = codec.decode(request.body)
        except ServiceError as error:
            self._refuse(error, codec, reply)
            return
        exchange = Exchange(operation, values, codec, reply)
        timing = self._model.timing(operation, values)
        if timing.total_ms == 0:
            self._send(self._answered(exchange, 0.0), exchange)
        else:
            self._run(self._answer_later(exchange, timing))

    async def stop(self) -> None:
        """Ends what is still being answered or pushed."""
        self._schedule.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _run(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_later(self, exchange: Exchange, timing: Timing) -> None:
        await asyncio.sleep(timing.before_ms / 1000)
        answered = self._answered(exchange, timing.total_ms)
        await asyncio.sleep(timing.after_ms / 1000)
        self._send(answered, exchange)

    def _answered(self, exchange: Exchange, took_ms: float) -> bytes | ServiceError | Subscription:
        codec = exchange.codec
        try:
            if exchange.operation == SUBSCRIBE:
                return self._model.subscribe(
                    exchange.values, self._wall_ms(), encoding=codec.encoding
                )
            answer = self._model.answer(
                exchange.operation,
                exchange.values,
                self._wall_ms(),
                took_ms=took_ms,
                encoding=codec.encoding,
            )
            return codec.answer(answer)
        except ServiceError as error:
            return error
        except Exception:  # a bug of ours must look like a service's failure, not like a hang
            _log.exception("%s failed", exchange.operation)
            return internal_failure("The local Kinesis failed: see its log.")

    # --- answers ----------------------------------------------------------------------------

    def _every_answers(self) -> dict[str, str]:
        """The headers that each answer of the service has."""
        digits = f"{self._random.getrandbits(128):032x}"
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return {
            "x-amzn-requestid": "-".join(groups),
            "x-amz-id-2": digits * 2,
            "date": self._date(),
        }

    def _date(self) -> str:
        """The time by the service's clock (RFC 9110, section 6.6.1)."""
        second = int(self._wall_ms() // 1000)
        if second != self._dated[0]:
            self._dated = second, formatdate(second, usegmt=True)
        return self._dated[1]

    def _send(self, answered: bytes | ServiceError | Subscription, exchange: Exchange) -> None:
        codec, reply = exchange.codec, exchange.reply
        if isinstance(answered, ServiceError):
            self._refuse(answered, codec, reply)
        elif isinstance(answered, Subscription):
            if reply.closed:  # the client left while the call was delayed
                answered.close()
                return
            push = Push(answered, codec, reply, self._schedule, self._frame_gap_ms)
            push.start(self._every_answers())
        elif self._model.loses_answer(exchange.operation, exchange.values):
            reply.cut(reset=True)
        else:
            headers = {"content-type": codec.content_type}
            reply.send(200, self._every_answers() | headers, answered)

    def _refuse(self, error: ServiceError, codec: Codec, reply: Reply) -> None:
        headers = {"content-type": codec.content_type, "x-amzn-errortype": error.code}
        reply.send(error.status, self._every_answers() | headers, codec.error(error))


def _codec(request: WireRequest) -> Codec:
    """By the request's content type; JSON for whoever names none of ours."""
    return _CBOR if "cbor" in request.headers.get("content-type", "") else _JSON


def _operation(request: WireRequest) -> str:
    """Raises ``UnknownOperationException`` if the request is not one to Kinesis."""
    target = request.headers.get("x-amz-target", "")
    if request.method != "POST" or not target.startswith(_TARGET_PREFIX):
        raise unknown_operation(
            f"Send POST with the header X-Amz-Target: {_TARGET_PREFIX}<Operation>; this was "
            f"{request.method} with {target!r}."
        )
    return target.removeprefix(_TARGET_PREFIX)
