"""A stream, a mapping and a handler in virtual time, to be driven step by step from plain code.

Nothing happens between the calls: time stands still. ``run`` lets it pass, as fast as the
handler's own code allows.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import FaultPlan
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.checkpoint import After, Checkpoint, MemoryCheckpoints, ShardEnd
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT
from shardlane_lab.local_lambda.in_process_function import DurationOf, Handler, InProcessFunction
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.mapping import EventSourceMapping, MappingPorts
from shardlane_lab.local_lambda.mapping_config import MappingConfig, MappingIdentity
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.stream_setup import create_stream, register_consumer
from shardlane_lab.local_lambda.template_values import StreamSpec
from shardlane_lab.metric import Datum
from shardlane_lab.virtual_time import EPOCH_MS, VirtualTimeLoop, wall_ms

T = TypeVar("T")
STREAM = "orders"
FUNCTION = "function"
MAPPING_UUID = "00000000-0000-4000-8000-000000000001"
MOST_AT_ONCE = 500
LONGEST_SETTLE_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of the handler; ``at_s`` counts from the start of the trial."""

    at_s: float
    event: dict[str, Any]
    result: InvokeResult

    @property
    def records(self) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = self.event["Records"]
        return records

    @property
    def sequence_numbers(self) -> list[str]:
        return [record["kinesis"]["sequenceNumber"] for record in self.records]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """Everything besides the handler and the mapping's parameters."""

    source: Literal["standard", "efo"] = "standard"
    shards: int = 1
    retention_hours: int = 24
    timeout_s: float = 3.0
    duration_s: float | DurationOf = 0.0
    """How long an invocation takes."""
    concurrency: int | None = None
    delays: Delays | None = None
    """``None``: the service answers at once."""
    timing: PollTiming | None = None
    faults: FaultPlan | None = None
    """What goes wrong between the stream and the mapping."""
    destination_fails: bool = False
    start_now: bool = True
    """``False``: the mapping starts when the test says ``start``."""
    seed: int = 0


class MappingTrial:
    """Close it, or use it in a ``with`` statement. ``config`` is the mapping's."""

    def __init__(
        self, handler: Handler, config: MappingConfig, settings: TrialSettings | None = None
    ) -> None:
        self.settings = settings or TrialSettings()
        self.config = config
        self.invocations: list[Invocation] = []
        self.on_failure: list[dict[str, Any]] = []
        """Messages for the on-failure destination."""
        self.metrics: list[Datum] = []
        self._news = asyncio.Event()
        self._last_put: dict[str, str] = {}
        self._checkpoints = _TellingCheckpoints(self._changed)
        self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self._function = InProcessFunction(
            handler=handler,
            wall_ms=wall_ms,
            name=FUNCTION,
            timeout_s=self.settings.timeout_s,
            duration_s=self.settings.duration_s,
            concurrency=self.settings.concurrency,
            observer=self._observe,
        )
        model = Kinesis(
            delays=self.settings.delays,
            seed=self.settings.seed,
            observer=self._observe,
            faults=self.settings.faults,
        )
        self.client = InProcessKinesis(model, wall_ms)
        self._poller = InProcessKinesis(model, wall_ms, Caller.EVENT_SOURCE_MAPPING)
        self._identity = self.do(self._create())
        self._mapping: EventSourceMapping | None = None
        self._running: asyncio.Task[None] | None = None
        if self.settings.start_now:
            self.start()

    def __enter__(self) -> MappingTrial:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._runner.close()

    # --- the stream -------------------------------------------------------------------------

    def put(self, data: object, key: str = "key", *, hash_key: str | None = None) -> str:
        """Puts one record and returns its sequence number. ``data`` may be bytes, text, or
        anything that JSON can hold. ``hash_key`` chooses the shard (``ExplicitHashKey``)."""
        request: dict[str, Any] = {"Data": _bytes(data), "PartitionKey": key}
        if hash_key is not None:
            request["ExplicitHashKey"] = hash_key
        answer = self.kinesis("PutRecord", **request)
        self._last_put[answer["ShardId"]] = answer["SequenceNumber"]
        return str(answer["SequenceNumber"])

    def put_all(self, records: Sequence[tuple[object, str]]) -> list[str]:
        """Puts pairs of data and key at one moment (``PutRecords``), in order. Raises
        ``RuntimeError`` if the stream's limits refuse one."""
        numbers: list[str] = []
        for start in range(0, len(records), MOST_AT_ONCE):
            entries = [
                {"Data": _bytes(data), "PartitionKey": key}
                for data, key in records[start : start + MOST_AT_ONCE]
            ]
            for entry in self.kinesis("PutRecords", Records=entries)["Records"]:
                if "ErrorCode" in entry:
                    raise RuntimeError(f"{entry['ErrorCode']}: {entry['ErrorMessage']}")
                self._last_put[entry["ShardId"]] = entry["SequenceNumber"]
                numbers.append(entry["SequenceNumber"])
        return numbers

    def kinesis(self, operation: str, **request: Any) -> dict[str, Any]:
        """Any operation on the trial's stream, e.g. ``kinesis("SplitShard", ShardToSplit=…)``.
        Raises ``ServiceError``."""
        return self.do(self.client.call(operation, {"StreamName": STREAM, **request}))

    @property
    def stream_arn(self) -> str:
        return self._identity.stream_arn

    @property
    def consumer_arn(self) -> str | None:
        """Of the registered stream consumer, with ``source="efo"``."""
        return self._identity.consumer_arn

    # --- the mapping ------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the mapping, at its checkpoints if it ran before, and waits until it reads."""
        self.do(self._start())

    def stop(self) -> None:
        """Stops the mapping in the middle of whatever it does; its checkpoints stay."""
        if self._mapping is not None and self._running is not None:
            self._mapping.stop()
            running, self._mapping, self._running = self._running, None, None
            self.do(_end(running))

    def run(self, seconds: float) -> None:
        """Lets time pass."""
        self.do(self._or_failure(asyncio.sleep(seconds)))

    def run_until(self, condition: Callable[[], bool], within_s: float = 3600.0) -> None:
        """Lets time pass until ``condition()``; raises ``TimeoutError`` if it does not come."""
        self.do(self._pass_until(condition, within_s))

    def settle(self, within_s: float = LONGEST_SETTLE_S) -> None:
        """Lets time pass until every record put so far is handled, filtered out or given up.

        Raises ``TimeoutError`` that says what is left and what the last invocation came to.
        """
        try:
            self.run_until(self._settled, within_s)
        except TimeoutError as error:
            raise TimeoutError(self._unsettled(within_s)) from error

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine of the test's own in the trial's time, e.g. with ``client``."""
        return self._runner.run(work)

    @property
    def now_s(self) -> float:
        """Since the start of the trial."""
        return self._runner.get_loop().time()

    @property
    def epoch_ms(self) -> float:
        """The wall clock at the start of the trial."""
        return EPOCH_MS

    @property
    def checkpoints(self) -> Mapping[str, Checkpoint]:
        """By shard id."""
        return self._checkpoints.load()

    def handled(self) -> list[str]:
        """The data of every record that the handler was given, as text, in order, repeats too."""
        return [_text(record) for each in self.invocations for record in each.records]

    def metric(self, name: str) -> list[float]:
        """The values of one metric, in order."""
        return [datum.value for datum in self.metrics if datum.name == name]

    # --- inside -----------------------------------------------------------------------------

    def _changed(self) -> None:
        self._news.set()

    def _observe(self, datum: Datum) -> None:
        self.metrics.append(datum)
        self._changed()

    async def _create(self) -> MappingIdentity:
        settings = self.settings
        stream = StreamSpec(
            name=STREAM, shard_count=settings.shards, retention_hours=settings.retention_hours
        )
        stream_arn = await create_stream(self.client, stream)
        consumer_arn = None
        if settings.source == "efo":
            consumer_arn = await register_consumer(self.client, stream_arn, FUNCTION)
        return MappingIdentity(
            uuid=MAPPING_UUID,
            function_name=FUNCTION,
            function_arn=self._function.arn,
            invoke_identity_arn=f"arn:aws:iam::{LOCAL_ACCOUNT}:role/{FUNCTION}",
            stream_name=STREAM,
            stream_arn=stream_arn,
            consumer_arn=consumer_arn,
        )

    async def _start(self) -> None:
        ports = MappingPorts(
            kinesis=self._poller,
            invoke=self._invoke,
            wall_ms=wall_ms,
            observer=self._observe,
            destination=self._take_message if self.config.on_failure else None,
            checkpoints=self._checkpoints,
            rng=random.Random(self.settings.seed),
        )
        mapping = EventSourceMapping(self.config, self._identity, ports, self.settings.timing)
        running = asyncio.get_running_loop().create_task(mapping.run())
        self._mapping, self._running = mapping, running
        await self._or_failure(mapping.ready.wait())

    async def _invoke(self, event: dict[str, Any]) -> InvokeResult:
        begun_s = self.now_s
        result = await self._function.invoke(event)
        self.invocations.append(Invocation(begun_s, event, result))
        self._changed()
        return result

    async def _take_message(self, message: dict[str, Any]) -> None:
        if self.settings.destination_fails:
            raise ConnectionError("the destination does not answer")
        self.on_failure.append(message)
        self._changed()

    async def _pass_until(self, condition: Callable[[], bool], within_s: float) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                self._news.clear()
                await self._or_failure(self._news.wait())

    async def _or_failure(self, waiting: Coroutine[Any, Any, Any]) -> None:
        """Raises what the mapping died of, should it die meanwhile."""
        awaited = asyncio.ensure_future(waiting)
        running = [] if self._running is None else [self._running]
        try:
            await asyncio.wait((awaited, *running), return_when=asyncio.FIRST_COMPLETED)
            if running and running[0].done():
                running[0].result()
        finally:
            awaited.cancel()

    def _settled(self) -> bool:
        return not self._behind()

    def _behind(self) -> list[str]:
        """Shards whose checkpoint has not reached the last record put."""
        return [
            shard_id
            for shard_id, number in self._last_put.items()
            if not _reached(self.checkpoints.get(shard_id), number)
        ]

    def _unsettled(self, within_s: float) -> str:
        last = self.invocations[-1].result if self.invocations else None
        came_to = "nothing was invoked"
        if last is not None:
            answer = last.payload if last.error is None else dict(last.error)
            came_to = f"the last of {len(self.invocations)} invocations gave {answer}"
        return f"not settled within {within_s:g} s: {', '.join(self._behind())}; {came_to}"


async def _end(running: asyncio.Task[None]) -> None:
    await running


def _reached(checkpoint: Checkpoint | None, number: str) -> bool:
    if isinstance(checkpoint, After):
        return int(checkpoint.sequence_number) >= int(number)
    return isinstance(checkpoint, ShardEnd)


class _TellingCheckpoints(MemoryCheckpoints):
    def __init__(self, on_save: Callable[[], None]) -> None:
        super().__init__()
        self._on_save = on_save

    def save(self, shard_id: str, checkpoint: Checkpoint) -> None:
        super().save(shard_id, checkpoint)
        self._on_save()


def _bytes(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def _text(record: Mapping[str, Any]) -> str:
    return base64.b64decode(record["kinesis"]["data"]).decode()
