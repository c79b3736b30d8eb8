"""What the consumer raises.

ShardlaneError
└── ConsumerError
    ├── StreamNotFound        there is no such stream, or no more
    ├── StreamConsumerError   the registered consumer (enhanced fan-out) cannot be had
    │   └── ConsumerEvicted   another process reads with the same registered consumer
    ├── LeaseTableError       the lease table cannot be used
    ├── KinesisRefused        the service refused a call; ``code`` is its name for why
    └── KinesisUnreachable    no answer, or a connection that broke

The last two are what a ``KinesisPort`` raises; readers take them in their stride and only let out
what no waiting will cure.
"""

from __future__ import annotations

from shardlane.errors import ShardlaneError


class ConsumerError(ShardlaneError):
    """The root of what the long-running consumer raises."""


class StreamNotFound(ConsumerError):
    """There is no stream of that name or ARN (any more)."""


class StreamConsumerError(ConsumerError):
    """The registered consumer cannot be found, registered or used."""


class ConsumerEvicted(StreamConsumerError):
    """Another process keeps taking over this one's subscriptions."""


class LeaseTableError(ConsumerError):
    """The lease table cannot be made, read or used for this stream."""


class KinesisRefused(ConsumerError):
    """The service answered with an error."""

    def __init__(self, code: str, message: str, operation: str) -> None:
        super().__init__(f"{operation}: {code}: {message}")
        self.code = code
        """As on the wire, e.g. ``ProvisionedThroughputExceededException``."""
        self.operation = operation


class KinesisUnreachable(ConsumerError):
    """There was no usable answer: a time-out, a broken connection, a broken event stream."""
