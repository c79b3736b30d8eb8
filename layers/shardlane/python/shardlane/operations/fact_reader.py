"""Reads the facts about mappings from an account: read-only calls, and few of them.

A permission that is missing takes away one kind of fact; it is named among what was not read, and
the others still tell something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from shardlane.clock import Clock, SystemClock
from shardlane.operations.activity import Activity, Point, activity, queries
from shardlane.operations.aws_errors import code_of, explained, explanation
from shardlane.operations.clients import Clients
from shardlane.operations.diagnosis import has_passed
from shardlane.operations.errors import OperationError
from shardlane.operations.facts import Facts, FunctionFacts, Held, StreamFacts
from shardlane.operations.log_lines import FILTER_PATTERN, Failing, Line, Logged, logged
from shardlane.operations.mapping import Mapping, is_kinesis, mapping_from
from shardlane.operations.stream_reader import ReadRecord, StreamReader, stream_arn
from shardlane.operations.suspects import Suspects, Window, suspects
from shardlane.parking.items import gates_pk

QUERIES_A_CALL = 500
"""Quota of ``GetMetricData``."""
NEWEST_LOG_S = 600
MOST_LOG_PAGES = 10
"""Of up to 10,000 lines, for the newest minutes first and then for the rest of the window: answers
come oldest first, and what happened last tells most."""
MOST_HELD = 10

T = TypeVar("T")


@dataclass(slots=True)
class FactReader:
    """``window_s``: how far back metrics and logs are read."""

    clients: Clients
    window_s: int = 3_600
    clock: Clock = field(default_factory=SystemClock)

    def facts(self, stream: str | None) -> list[Facts]:
        """Of every mapping on the stream and its consumers, or of every mapping on Kinesis in
        the region. Raises ``OperationError`` if not even these can be listed."""
        with explained():
            mappings = self._mappings(stream)
            activities = self._activities(mappings)
            return [
                self._facts_of(each, mappings, *activities(each))
                for each in sorted(mappings, key=lambda each: (each.source_arn, each.uuid))
            ]

    # --- mappings -----------------------------------------------------------------------------

    def _mappings(self, stream: str | None) -> list[Mapping]:
        if stream is None:
            return [each for each in self._listed() if is_kinesis(each.source_arn)]
        arn = stream_arn(self.clients("kinesis"), stream)
        sources = [arn, *self._consumer_arns(arn)]
        return [each for source in sources for each in self._listed(EventSourceArn=source)]

    def _listed(self, **filters: str) -> Iterator[Mapping]:
        pages = self.clients("lambda").get_paginator("list_event_source_mappings")
        for page in pages.paginate(**filters):
            for each in page["EventSourceMappings"]:
                if each.get("EventSourceArn"):  # a self-managed Kafka has none
                    yield mapping_from(each)

    def _consumer_arns(self, arn: str) -> list[str]:
        pages = self.clients("kinesis").get_paginator("list_stream_consumers")
        return [
            each["ConsumerARN"]
            for page in pages.paginate(StreamARN=arn)
            for each in page["Consumers"]
        ]

    # --- metrics ------------------------------------------------------------------------------

    def _activities(
        self, mappings: Sequence[Mapping]
    ) -> Callable[[Mapping], tuple[Activity, tuple[str, ...]]]:
        """One question for the metrics of all mappings."""
        wanted = [
            query for index, each in enumerate(mappings) for query in queries(each, f"m{index}")
        ]
        nothing: list[tuple[str, list[Point]]] = []
        results, unread = _tried("CloudWatch metrics", nothing, lambda: list(self._metrics(wanted)))
        found = {each.uuid: activity(results, f"m{index}") for index, each in enumerate(mappings)}
        return lambda mapping: (found[mapping.uuid], unread)

    def _metrics(self, wanted: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[Point]]]:
        now_s = self.clock.wall_ms() / 1000
        times = {
            "StartTime": datetime.fromtimestamp((now_s - self.window_s) // 60 * 60, UTC),
            "EndTime": datetime.fromtimestamp(now_s + 60, UTC),
        }
        pages = self.clients("cloudwatch").get_paginator("get_metric_data")
        for start in range(0, len(wanted), QUERIES_A_CALL):
            chunk = list(wanted[start : start + QUERIES_A_CALL])
            for page in pages.paginate(MetricDataQueries=chunk, **times):
                for result in page["MetricDataResults"]:
                    pairs = zip(result["Timestamps"], result["Values"], strict=True)
                    yield (
                        result["Id"],
                        [Point(round(at.timestamp() * 1000), float(value)) for at, value in pairs],
                    )

    # --- one mapping --------------------------------------------------------------------------

    def _facts_of(
        self,
        mapping: Mapping,
        mappings: Sequence[Mapping],
        counted: Activity,
        unread: tuple[str, ...],
    ) -> Facts:
        function, no_function = _tried(
            f"function {mapping.function}",
            FunctionFacts(),
            lambda: self._function(mapping, mappings),
        )
        lines, no_log = _tried(
            f"log of {mapping.function}",
            Logged(read=False),
            lambda: self._logged(mapping, function),
        )
        stream, no_stream = _tried(
            f"stream {mapping.stream}",
            StreamFacts(name=mapping.stream, status="ACTIVE"),
            lambda: self._stream(mapping, mappings),
        )
        quarantined, no_lot = _tried("parking lot", None, lambda: self._quarantined(function))
        waiting, no_destination = _tried(
            "on-failure destination", None, lambda: self._waiting(mapping)
        )
        facts = Facts(
            mapping=mapping,
            function=function,
            stream=stream,
            activity=counted,
            logged=lines,
            waiting=waiting,
            quarantined=quarantined,
            unread=(*unread, *no_function, *no_log, *no_stream, *no_lot, *no_destination),
            window_ms=self.window_s * 1000,
        )
        located, no_records = _tried("records", facts, lambda: self._located(facts))
        return replace(located, unread=(*located.unread, *no_records))

    def _function(self, mapping: Mapping, mappings: Sequence[Mapping]) -> FunctionFacts:
        client = self.clients("lambda")
        found = client.get_function_configuration(FunctionName=mapping.function)
        name = mapping.function.partition(":")[0]
        variables = (found.get("Environment") or {}).get("Variables") or {}
        return FunctionFacts(
            timeout_s=found.get("Timeout"),
            state=found.get("State"),
            reserved_concurrency=_reserved(client, name),
            log_group=(found.get("LoggingConfig") or {}).get("LogGroup"),
            parking_table=variables.get("PARKING_TABLE"),
            parking_consumer=variables.get("PARKING_CONSUMER"),
            mappings=sum(each.function == mapping.function for each in mappings),
        )

    def _stream(self, mapping: Mapping, mappings: Sequence[Mapping]) -> StreamFacts:
        kinesis = self.clients("kinesis")
        found = kinesis.describe_stream_summary(StreamARN=mapping.stream_arn)
        summary = found["StreamDescriptionSummary"]
        shards = StreamReader(kinesis, mapping.stream_arn, self.clock).shards()
        sharing = [each for each in mappings if each.source_arn == mapping.stream_arn]
        return StreamFacts(
            name=mapping.stream,
            status=summary["StreamStatus"],
            retention_hours=summary["RetentionPeriodHours"],
            shard_ids=tuple(each.shard_id for each in shards if each.last is None),
            closed_shard_ids=tuple(each.shard_id for each in shards if each.last is not None),
            standard_mappings=len(sharing),
        )

    def _logged(self, mapping: Mapping, function: FunctionFacts) -> Logged:
        name = mapping.function.partition(":")[0]
        group = function.log_group or f"/aws/lambda/{name}"
        try:
            return logged(self._log_lines(group))
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return Logged()  # a function that never ran has no log group
            raise

    def _log_lines(self, group: str) -> Iterator[Line]:
        now_ms = round(self.clock.wall_ms())
        middle_ms = now_ms - min(NEWEST_LOG_S, self.window_s) * 1000
        for times in (
            {"startTime": middle_ms},
            {"startTime": now_ms - self.window_s * 1000, "endTime": middle_ms - 1},
        ):
            pages = self.clients("logs").get_paginator("filter_log_events")
            found = pages.paginate(logGroupName=group, filterPattern=FILTER_PATTERN, **times)
            for page in islice(found, MOST_LOG_PAGES):
                for event in page["events"]:
                    yield Line(event["timestamp"], event["message"])

    def _quarantined(self, function: FunctionFacts) -> int | None:
        if function.parking_table is None or function.parking_consumer is None:
            return None
        pages = (
            self.clients("dynamodb")
            .get_paginator("query")
            .paginate(
                TableName=function.parking_table,
                Select="COUNT",
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": {"S": gates_pk(function.parking_consumer)}},
            )
        )
        count: int = sum(page["Count"] for page in pages)
        return count

    def _waiting(self, mapping: Mapping) -> int | None:
        """How many messages a queue or a bucket holds. Nothing is received: that would hide it
        from others for a while."""
        arn = mapping.on_failure or ""
        if ":sqs:" in arn:
            return self._in_queue(*arn.split(":")[4:6])
        if ":s3:::" in arn:
            return self._in_bucket(arn.rpartition(":")[2], f"aws/lambda/{mapping.uuid}/")
        return None

    def _in_queue(self, account: str, name: str) -> int:
        sqs = self.clients("sqs")
        url = sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"]
        wanted = "ApproximateNumberOfMessages"
        answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[wanted])
        return int(answer["Attributes"][wanted])

    def _in_bucket(self, bucket: str, prefix: str) -> int:
        """At most the thousand of one page: whether there are any is what matters."""
        found = self.clients("s3").list_objects_v2(Bucket=bucket, Prefix=prefix)
        return int(found["KeyCount"])

    # --- where it stands ----------------------------------------------------------------------

    def _located(self, facts: Facts) -> Facts:
        found = suspects(facts.logged, facts.activity.ages, self.clock.wall_ms())
        reader = StreamReader(self.clients("kinesis"), facts.mapping.stream_arn, self.clock)
        held, expired = self._named(reader, found)
        held = [each for each in held if not has_passed(each, facts.activity.ages)]
        if found.window is not None and not held:
            held = list(islice(_arrived_within(reader, facts.stream, found.window), MOST_HELD))
        return replace(
            facts,
            held=tuple(held[:MOST_HELD]),
            expired=tuple(expired),
            standing_since_ms=found.window.since_ms if found.window else None,
        )

    def _named(self, reader: StreamReader, found: Suspects) -> tuple[list[Held], list[Failing]]:
        held, expired = [], []
        for failing in found.named[-MOST_HELD:]:
            record = reader.find(failing.sequence_number)
            if record is None:
                expired.append(failing)
            else:
                held.append(_held(record, failing))
        return held, expired


def _arrived_within(reader: StreamReader, stream: StreamFacts, window: Window) -> Iterator[Held]:
    """The first record of each shard that arrived when the one at which the mapping stands did."""
    for shard_id in (*stream.closed_shard_ids, *stream.shard_ids):
        record = reader.first_since(shard_id, window.from_ms, window.to_ms)
        if record is not None:
            yield _held(record, None)


def _held(record: ReadRecord, failing: Failing | None) -> Held:
    return Held(
        shard_id=record.shard_id,
        sequence_number=record.sequence_number,
        key=record.key,
        arrival_ms=record.arrival_ms,
        size_bytes=len(record.data),
        failing=failing,
    )


def _reserved(client: Any, name: str) -> int | None:
    try:
        answer = client.get_function_concurrency(FunctionName=name)
    except ClientError:
        return None  # the reservation is a detail, and a right of its own
    reserved: int | None = answer.get("ReservedConcurrentExecutions")
    return reserved


def _tried(what: str, otherwise: T, read: Callable[[], T]) -> tuple[T, tuple[str, ...]]:
    """What ``read`` returns; or ``otherwise``, and why."""
    try:
        return read(), ()
    except (BotoCoreError, ClientError) as error:
        return otherwise, (f"{what}: {explanation(error)}",)
    except OperationError as error:
        return otherwise, (f"{what}: {error}",)
