"""What to do about a finding: whole commands where there is one. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from shardlane.operations.diagnosis import Block, Finding, Status
from shardlane.operations.mapping import INFINITE

_DESTINATION = """ --destination-config '{"OnFailure":{"Destination":"ARN of a queue"}}'"""


def advice(finding: Finding) -> tuple[str, ...]:
    """The most useful first. Commands are written to be pasted into a shell."""
    give = _BY_STATUS.get(finding.status)
    return tuple(give(finding)) if give is not None else ()


def _blocked(finding: Finding) -> Iterator[str]:
    for block in finding.blocks[:3]:
        yield f"look at the record: {_peek(finding, block)}"
    yield "mend the handler and deploy it: the next retry takes the new code"
    mapping = finding.facts.mapping
    if mapping.retries == INFINITE and mapping.age_s == INFINITE:
        yield (
            "or let the shard go on without the batch: "
            f"aws lambda update-event-source-mapping --uuid {mapping.uuid} "
            "--maximum-retry-attempts 3 --bisect-batch-on-function-error"
            + ("" if mapping.on_failure else _DESTINATION)
        )
    if not mapping.partial:
        yield (
            "report single records instead of failing the batch: FunctionResponseTypes "
            "ReportBatchItemFailures, and KeyedBatchProcessor in the function"
        )
    if any(each.certain for each in finding.blocks):
        yield "so that one record cannot hold up its shard: FailurePolicy.park"


def _peek(finding: Finding, block: Block) -> str:
    stream, held = finding.facts.stream.name, block.held
    return (
        f"shardlane peek --stream {shlex.quote(stream)} --shard {held.shard_id} "
        f"--sequence {held.sequence_number}"
    )


def _disabled(finding: Finding) -> Iterator[str]:
    yield (
        "aws lambda update-event-source-mapping --enabled --uuid "
        f"{finding.facts.mapping.uuid} goes on where it stopped, if that has not expired"
    )


def _no_stream(finding: Finding) -> Iterator[str]:
    stream = finding.facts.stream
    yield (
        f"the stream is {stream.status}: aws kinesis describe-stream-summary "
        f"--stream-name {shlex.quote(stream.name)}"
    )


def _throttled(finding: Finding) -> Iterator[str]:
    name = finding.facts.mapping.function.partition(":")[0]
    if finding.facts.function.reserved_concurrency == 0:
        yield (
            "the function's reserved concurrency is 0, so that nothing may run: "
            f"aws lambda delete-function-concurrency --function-name {shlex.quote(name)}"
        )
    else:
        yield "raise the function's reserved concurrency, or the account's limit"


def _not_polling(finding: Finding) -> Iterator[str]:
    result = finding.facts.mapping.last_result
    if result:
        yield f"Lambda says: {result}"
    yield "check that the function's role may read the stream and decrypt with its key"
    if finding.facts.mapping.consumer is not None:
        yield "check that the stream consumer is ACTIVE, and that its ARN is still the mapping's"


def _behind(finding: Finding) -> Iterator[str]:
    mapping, stream = finding.facts.mapping, finding.facts.stream
    if mapping.parallelization < 10:
        yield (
            f"more batches of a shard at once: ParallelizationFactor is {mapping.parallelization} "
            "of at most 10; order within a key is kept"
        )
    if mapping.consumer is None and stream.standard_mappings > 5:
        yield (
            f"{stream.standard_mappings} standard mappings share five reads a second of each "
            "shard: move some to enhanced fan-out"
        )
    yield "a larger BatchSize, a faster handler (KeyedBatchProcessor(workers=…)), or more shards"


_BY_STATUS: dict[Status, Callable[[Finding], Iterator[str]]] = {
    Status.BLOCKED: _blocked,
    Status.DISABLED: _disabled,
    Status.NO_STREAM: _no_stream,
    Status.THROTTLED: _throttled,
    Status.NOT_POLLING: _not_polling,
    Status.BEHIND: _behind,
}
