"""Reads a stream with async-kinesis, in the virtual environment of the contract clients.

It hands out payloads only: a record's name is the number with which its payload begins.
"""

from __future__ import annotations

import asyncio

from kinesis import Consumer, StringProcessor  # type: ignore[import-not-found]

from bench.peers.asked import parser
from bench.peers.printed import Printed


async def main() -> None:
    given = parser(__doc__).parse_args()
    printed = Printed(given.count, timed=given.timed)
    consumer = Consumer(
        given.stream,
        endpoint_url=given.kinesis,
        region_name="us-east-1",
        processor=StringProcessor(),
        record_limit=10_000,
        shard_fetch_rate=5,
        sleep_time_no_records=0.2,
    )
    async with consumer:
        while True:
            async for payload in consumer:
                number, key, _ = payload.split(" ", 2)
                if printed.record(number, key):
                    printed.flush()
                    return


asyncio.run(main())
