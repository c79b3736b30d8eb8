"""A handler for `shardlane consume STREAM --handler orders:handle`."""

import logging

from shardlane import Record

logger = logging.getLogger("orders")


def handle(record: Record) -> None:
    order = record.json()
    logger.info("order %s", order["id"])
