"""How fast a batch goes through our processor, beside Powertools' ``BatchProcessor``.

    python -m bench.processor

Both run the same events in turns in this process, and of each the best round counts, so that what
else the machine does hardly matters. Prints ratios and whether each meets its target; the exit
status is 1 if one does not.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BasePartialBatchProcessor,
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import KinesisStreamRecord

from shardlane import KeyedBatchProcessor, Record

SEQUENCE = 49_664_051_873_519_278_542_133_817_302_411_582_104_963_780_128_145_801_218
IO_S = 0.010
IO_WORKERS = 16

Event = dict[str, Any]
Invocation = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds of the best round of each."""

    name: str
    ours_s: float
    powertools_s: float
    records: int
    most_ratio: float
    """Of ours to theirs; the target."""

    @property
    def ratio(self) -> float:
        return self.ours_s / self.powertools_s

    @property
    def met(self) -> bool:
        return self.ratio <= self.most_ratio

    def __str__(self) -> str:
        ours_us, theirs_us = (
            each / self.records * 1e6 for each in (self.ours_s, self.powertools_s)
        )
        return (
            f"{self.name:52} {ours_us:9.2f} {theirs_us:9.2f} µs a record  ratio {self.ratio:5.3f} "
            f"({1 / self.ratio:5.2f} times as fast), at most {self.most_ratio:5.3f}: "
            f"{'met' if self.met else 'MISSED'}"
        )


def event_of(records: int, keys: int) -> Event:
    """As a mapping delivers it."""
    return {"Records": [_entry(number, f"key-{number % keys}") for number in range(records)]}


def _entry(number: int, key: str) -> dict[str, Any]:
    order = {"order": number, "customer": key, "cents": 4_200 + number, "note": "as discussed"}
    sequence = str(SEQUENCE + number * 7)
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": key,
            "sequenceNumber": sequence,
            "data": base64.b64encode(json.dumps(order).encode()).decode(),
            "approximateArrivalTimestamp": 1_780_000_000.071 + number / 1_000,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"shardId-000000000000:{sequence}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": "arn:aws:iam::123456789012:role/orders",
        "awsRegion": "eu-west-1",
        "eventSourceARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
    }


def decoding() -> tuple[Invocation, Invocation]:
    """Ours and theirs, each with the handler that its own documentation shows."""

    def handle(record: Record) -> None:
        record.json()

    def handle_powertools(record: KinesisStreamRecord) -> None:
        record.kinesis.data_as_json()

    return _invocation(KeyedBatchProcessor(), handle), _invocation(_powertools(), handle_powertools)


def waiting() -> tuple[Invocation, Invocation]:
    """A handler that waits for something for 10 ms."""

    def handle(record: object) -> None:
        time.sleep(IO_S)

    ours = KeyedBatchProcessor(workers=IO_WORKERS)
    return _invocation(ours, handle), _invocation(_powertools(), handle)


def _powertools() -> BatchProcessor:
    return BatchProcessor(event_type=EventType.KinesisDataStreams)


def _invocation(processor: BasePartialBatchProcessor, handler: Callable[[Any], None]) -> Invocation:
    def invoke(event: Event) -> None:
        response = process_partial_response(
            event=event, record_handler=handler, processor=processor
        )
        assert response == {"batchItemFailures": []}

    return invoke


def compare(
    name: str,
    pair: tuple[Invocation, Invocation],
    event: Event,
    *,
    rounds: int,
    calls: int,
    most_ratio: float,
) -> Result:
    """``calls`` of one, then as many of the other, ``rounds`` times."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for which, invoke in enumerate(pair):
            best[which] = min(best[which], _seconds(invoke, event, calls))
    return Result(name, best[0], best[1], len(event["Records"]), most_ratio)


def _seconds(invoke: Invocation, event: Event, calls: int) -> float:
    began_s = time.perf_counter()
    for _ in range(calls):
        invoke(event)
    return (time.perf_counter() - began_s) / calls


def measured(rounds: int) -> Sequence[Result]:
    return [
        compare(
            "JSON decoded, 100 records, 1 worker",
            decoding(),
            event_of(100, 50),
            rounds=10 * rounds,
            calls=10,
            most_ratio=1.0,
        ),
        compare(
            "JSON decoded, 10,000 records, 1 worker",
            decoding(),
            event_of(10_000, 1_000),
            rounds=rounds,
            calls=1,
            most_ratio=1.0,
        ),
        compare(
            "10 ms of I/O, 100 records of 50 keys, 16 workers",
            waiting(),
            event_of(100, 50),
            rounds=max(2, rounds // 4),
            calls=1,
            most_ratio=1 / 8,
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.processor", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    print(f"{'':52} {'ours':>9} {'theirs':>9}")
    results = measured(given.rounds)
    for result in results:
        print(result)
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
