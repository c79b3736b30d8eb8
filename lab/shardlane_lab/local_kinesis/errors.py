"""What the service answers when it refuses.

::

    Exception
    └── ServiceError          every refusal, with the service's code, message and HTTP status

One class and not one per code: shells need the code only to write ``__type``, and a client sees
what botocore makes of it. The functions below are the refusals in the service's own words.
"""

from __future__ import annotations


class ServiceError(Exception):
    """A refusal of Amazon Kinesis.

    ``code`` is the name on the wire (``__type``), e.g.
    ``ProvisionedThroughputExceededException``; ``status`` is 400 for the caller's fault and 500
    for the service's.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status

    def __reduce__(self) -> tuple[type[ServiceError], tuple[str, str, int]]:
        return type(self), (self.code, self.message, self.status)


def invalid_argument(message: str) -> ServiceError:
    return ServiceError("InvalidArgumentException", message)


def validation(message: str) -> ServiceError:
    return ServiceError("ValidationException", message)


def serialization(message: str) -> ServiceError:
    """The body is not what the protocol says (not JSON, a string where a number belongs)."""
    return ServiceError("SerializationException", message)


def unknown_operation(message: str) -> ServiceError:
    return ServiceError("UnknownOperationException", message)


def not_found(message: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", message)


def in_use(message: str) -> ServiceError:
    return ServiceError("ResourceInUseException", message)


def limit_exceeded(message: str) -> ServiceError:
    return ServiceError("LimitExceededException", message)


def throughput_exceeded(message: str) -> ServiceError:
    return ServiceError("ProvisionedThroughputExceededException", message)


def expired_iterator(message: str) -> ServiceError:
    return ServiceError("ExpiredIteratorException", message)


def expired_token(message: str) -> ServiceError:
    return ServiceError("ExpiredNextTokenException", message)


def dry_run() -> ServiceError:
    """The caller asked only whether the call would succeed, and it would."""
    return ServiceError(
        "DryRunOperationException", "The request would have succeeded, but DryRun was set."
    )


def internal_failure(message: str) -> ServiceError:
    return ServiceError("InternalFailureException", message, 500)


def memory_full(held_bytes: int, cap_bytes: int) -> ServiceError:
    """Ours alone: the service has disks. Named so that nobody takes it for a service limit."""
    return ServiceError(
        "LocalKinesisMemoryFull",
        f"The local Kinesis holds {held_bytes} bytes of records and may hold {cap_bytes}: "
        "shorten the retention, delete a stream, or raise the memory cap.",
    )
