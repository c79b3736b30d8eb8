"""What a refusal of Kinesis means for a reader."""

from __future__ import annotations

from enum import Enum

from shardlane.consumer.errors import KinesisRefused


class Refusal(Enum):
    """What to do about it."""

    THROTTLED = "throttled"
    """Wait, with backoff; what was asked for stays as it is."""
    EXPIRED = "expired"
    """Open a new iterator after the last record that was delivered."""
    INVALID = "invalid"
    """The position is not one of this shard (any more)."""
    IN_USE = "in use"
    """The last subscription is too fresh; wait a second."""
    NOT_FOUND = "not found"
    """The stream, the shard or the consumer is gone."""
    DENIED = "denied"
    """Nothing that waiting would cure."""
    PASSING = "passing"
    """Anything else, an internal failure for example: wait, with backoff."""


_MEANINGS = {
    "ProvisionedThroughputExceededException": Refusal.THROTTLED,
    "LimitExceededException": Refusal.THROTTLED,
    "KMSThrottlingException": Refusal.THROTTLED,
    "ThrottlingException": Refusal.THROTTLED,
    "Throttling": Refusal.THROTTLED,
    "ExpiredIteratorException": Refusal.EXPIRED,
    "InvalidArgumentException": Refusal.INVALID,
    "ResourceInUseException": Refusal.IN_USE,
    "ResourceNotFoundException": Refusal.NOT_FOUND,
    "AccessDeniedException": Refusal.DENIED,
    "UnrecognizedClientException": Refusal.DENIED,
    "InvalidSignatureException": Refusal.DENIED,
    "MissingAuthenticationTokenException": Refusal.DENIED,
    "IncompleteSignatureException": Refusal.DENIED,
    "ValidationException": Refusal.DENIED,
    "KMSAccessDeniedException": Refusal.DENIED,
    "KMSDisabledException": Refusal.DENIED,
    "KMSInvalidStateException": Refusal.DENIED,
    "KMSNotFoundException": Refusal.DENIED,
    "KMSOptInRequired": Refusal.DENIED,
}
"""Source: the errors of GetRecords, GetShardIterator and SubscribeToShard, and "Common Errors", in
the Kinesis Data Streams API Reference."""


def meaning_of(error: KinesisRefused) -> Refusal:
    return _MEANINGS.get(error.code, Refusal.PASSING)
