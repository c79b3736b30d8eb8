"""What a source makes for each held shard."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.shard import Shard


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """The shard has no more records."""

    children: tuple[Shard, ...]
    """As the last answer told; empty if it told nothing."""


@dataclass(frozen=True, slots=True)
class ShardMissing:
    """The service does not know the shard: trimmed, or its stream is gone."""

    why: str


class ShardReader(Protocol):
    async def read(self) -> ShardEnd | ShardMissing:
        """Reads until the shard ends. Cancelled when the lease ends. Raises ``ConsumerError``
        for what no waiting will cure."""


@dataclass(frozen=True, slots=True)
class Service:
    """What readers have in common: the port, the stream, and randomness for jitter."""

    kinesis: KinesisPort
    stream_arn: str
    stream_name: str
    random: Random
