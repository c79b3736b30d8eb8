"""From a request on the wire to the model and back, whatever HTTP carries it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from shardlane_lab.local_kinesis.errors import ServiceError, internal_failure, unknown_operation
from shardlane_lab.local_kinesis.model import SUBSCRIBE, Kinesis, Timing
from shardlane_lab.local_kinesis.wire.body import Codec, JsonCodec
from shardlane_lab.local_kinesis.wire.push import Push
from shardlane_lab.local_kinesis.wire.reply import Reply, WireRequest

_TARGET_PREFIX = "Kinesis_20131202."
_JSON = JsonCodec()

_log = logging.getLogger(__name__)


class Responder:
    """Answers the requests of all connections of a server.

    ``frame_gap_ms`` is the least time between two frames of a subscription: a client in use
    (lifion-kinesis) loses frames that arrive together.
    """

    def __init__(self, model: Kinesis, wall_ms: Callable[[], float], frame_gap_ms: float) -> None:
        self._model = model
        self._wall_ms = wall_ms
        self._frame_gap_ms = frame_gap_ms
        self._random = model.account.random("request-ids")
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: WireRequest, reply: Reply) -> None:
        """Answers now, or starts a task that will."""
        codec = _codec(request)
        try:
            operation = _operation(request)
            if operation == SUBSCRIBE:
                self._subscribe(request, codec, reply)
                return
        except ServiceError as error:
            self._refuse(error, codec, reply)
            return
        timing = self._model.timing(operation)
        if timing.total_ms == 0:
            self._send(self._answered(operation, request, codec, 0.0), codec, reply)
        else:
            self._run(self._answer_later(operation, timing, request, codec, reply))

    async def stop(self) -> None:
        """Ends what is still being answered."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _run(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_later(
        self, operation: str, timing: Timing, request: WireRequest, codec: Codec, reply: Reply
    ) -> None:
        await asyncio.sleep(timing.before_ms / 1000)
        answered = self._answered(operation, request, codec, timing.total_ms)
        await asyncio.sleep(timing.after_ms / 1000)
        self._send(answered, codec, reply)

    def _answered(
        self, operation: str, request: WireRequest, codec: Codec, took_ms: float
    ) -> bytes | ServiceError:
        try:
            values = codec.decode(request.body)
            answer = self._model.answer(
                operation, values, self._wall_ms(), took_ms=took_ms, encoding=codec.encoding
            )
            return codec.answer(answer)
        except ServiceError as error:
            return error
        except Exception:  # a bug of ours must look like a service's failure, not like a hang
            _log.exception("%s failed", operation)
            return internal_failure(f"{operation} failed inside the local Kinesis: see its log.")

    def _subscribe(self, request: WireRequest, codec: Codec, reply: Reply) -> None:
        values = codec.decode(request.body)
        subscription = self._model.subscribe(values, self._wall_ms(), encoding=codec.encoding)
        push = Push(subscription, codec, reply, self._wall_ms, self._frame_gap_ms)
        push.start(self._request_ids())
        self._run(push.run())

    # --- answers ----------------------------------------------------------------------------

    def _request_ids(self) -> dict[str, str]:
        digits = f"{self._random.getrandbits(128):032x}"
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return {"x-amzn-requestid": "-".join(groups), "x-amz-id-2": digits * 2}

    def _send(self, answered: bytes | ServiceError, codec: Codec, reply: Reply) -> None:
        if isinstance(answered, ServiceError):
            self._refuse(answered, codec, reply)
        else:
            headers = {"content-type": codec.content_type}
            reply.send(200, self._request_ids() | headers, answered)

    def _refuse(self, error: ServiceError, codec: Codec, reply: Reply) -> None:
        headers = {"content-type": codec.content_type, "x-amzn-errortype": error.code}
        reply.send(error.status, self._request_ids() | headers, codec.error(error))


def _codec(request: WireRequest) -> Codec:
    return _JSON


def _operation(request: WireRequest) -> str:
    """Raises ``UnknownOperationException`` if the request is not one to Kinesis."""
    target = request.headers.get("x-amz-target", "")
    if request.method != "POST" or not target.startswith(_TARGET_PREFIX):
        raise unknown_operation(
            f"Send POST with the header X-Amz-Target: {_TARGET_PREFIX}<Operation>; this was "
            f"{request.method} with {target!r}."
        )
    return target.removeprefix(_TARGET_PREFIX)
