"""Handlers that the mapping's rules are tried with."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
Handler = Callable[[Event, Any], Any]


def texts(event: Event) -> list[str]:
    """The data of an event's records."""
    return [base64.b64decode(each["kinesis"]["data"]).decode() for each in event["Records"]]


def numbers(event: Event) -> list[str]:
    return [each["kinesis"]["sequenceNumber"] for each in event["Records"]]


def succeed(_event: Event, _context: Any) -> None:
    return None


def poison(*bad: str) -> Handler:
    """Raises if one of the records is ``bad``."""

    def handler(event: Event, _context: Any) -> None:
        for text in texts(event):
            if text in bad:
                raise ValueError(f"{text} cannot be processed")

    return handler


def report(*bad: str) -> Handler:
    """Reports the first ``bad`` record, as a handler with partial responses does."""

    def handler(event: Event, _context: Any) -> Event:
        for text, number in zip(texts(event), numbers(event), strict=True):
            if text in bad:
                return {"batchItemFailures": [{"itemIdentifier": number}]}
        return {"batchItemFailures": []}

    return handler


def answer(value: Any) -> Handler:
    """Always ``value``."""
    return lambda _event, _context: value


def first_time(value: Any, later: Any = None) -> Handler:
    """``value`` to the first event, ``later`` to all others. An exception is raised."""
    answers = [value]

    def handler(_event: Event, _context: Any) -> Any:
        chosen = answers.pop() if answers else later
        if isinstance(chosen, Exception):
            raise chosen
        return chosen

    return handler
