"""Reads a stream with async-kinesis until it has seen so many records: run in the virtual
environment of the contract clients, as ``async_kinesis_reader.py ENDPOINT STREAM COUNT``.

Prints the records' data, one a line, in the order in which they came.
"""

from __future__ import annotations

import asyncio
import sys

from kinesis import Consumer, StringProcessor  # type: ignore[import-not-found]


async def main(endpoint: str, stream: str, count: int) -> None:
    consumer = Consumer(
        stream,
        endpoint_url=endpoint,
        region_name="us-east-1",
        processor=StringProcessor(),
        sleep_time_no_records=0.25,
        shard_fetch_rate=4,
    )
    async with consumer:
        seen = 0
        while seen < count:
            async for record in consumer:
                print(record, flush=True)
                seen += 1


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
