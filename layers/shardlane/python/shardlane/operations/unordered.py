"""Records that a mapping gave up, sent to the consumer function once more: from on-failure
messages of a queue, or objects of a bucket.

Their keys have gone on without them, so they end BEHIND their keys' order: each entry is marked
``{"shardlane": {"unordered": true}}``, and so is every report. Within a message a key keeps its
order: after a record that fails, no later one of its key is sent. At least once: a message is
deleted only when every record of it is done, and a journal keeps what was done of the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from shardlane.event_entry import OURS, RawRecord
from shardlane.operations.on_failure_message import OnFailureMessage
from shardlane.parking.redrive import Answer, Send, Sent

UNORDERED = "unordered"


class Fate(Enum):
    """What becomes of a message."""

    DONE = "done"
    """Every record was handled (or parked behind its key): the message may be deleted."""
    KEPT = "kept"
    """Some record was not: the message stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resent:
    """The report on one message."""

    fate: Fate
    handled: int
    before: int = 0
    """Records that an earlier run had done, by the journal."""
    failed: int = 0
    held_back: int = 0
    """Records behind a failed one of their key, not sent."""
    reason: str = ""


class Journal:
    """Which records of unfinished messages are done. In a file, one line of JSON each, so that a
    run that was stopped goes on; without a file, for this run only."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._done: set[tuple[str, str]] = set()
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(line)

    def has(self, message: str, sequence_number: str) -> bool:
        return (message, sequence_number) in self._done

    def add(self, message: str, sequence_number: str) -> None:
        self._done.add((message, sequence_number))
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([message, sequence_number]) + "\n")

    def _take(self, line: str) -> None:
        # The last line may be half a line: the run was stopped while it wrote it.
        try:
            message, sequence_number = json.loads(line)
        except ValueError:
            return
        self._done.add((message, sequence_number))


def labelled(entry: RawRecord) -> dict[str, Any]:
    """A copy of ``entry`` that says that it is behind its key's order."""
    return {**entry, OURS: {**entry.get(OURS, {}), UNORDERED: True}}


def resend(message_id: str, entries: Iterable[RawRecord], send: Send, journal: Journal) -> Resent:
    """Sends the entries one by one. An entry without a place is a failure of its own."""
    handled = before = failed = held_back = 0
    reasons: list[str] = []
    stopped: set[str] = set()
    for entry in entries:
        number, key = _place(entry)
        if number is not None and journal.has(message_id, number):
            before += 1
            continue
        if key in stopped:
            held_back += 1
            continue
        sent = send(labelled(entry)) if number is not None else _NO_PLACE
        if sent.answer is Answer.HANDLED and number is not None:
            handled += 1
            journal.add(message_id, number)
            continue
        failed += 1
        stopped.add(key)
        reasons.append(f"{number}: {sent.answer.value}: {sent.reason}")
    return Resent(
        fate=Fate.KEPT if failed or held_back else Fate.DONE,
        handled=handled,
        before=before,
        failed=failed,
        held_back=held_back,
        reason=reasons[0] if reasons else "",
    )


def why_not_whole(
    message: OnFailureMessage, found: int, *, first: str | None, whole_range: bool
) -> str | None:
    """Why the ``found`` records between a message's first and last number may not be sent as they
    are; None if they may. ``first`` is the sequence number of the first of them.

    A queue's message has the batch's first and last number and its size, but not which records
    between them were in it.
    """
    if found < message.size:
        return (
            f"{message.size - found} of its {message.size} records have expired from "
            f"{message.stream}: they are lost"
        )
    if first != message.first:
        return (
            f"its first record has expired from {message.stream}, and with it perhaps others: "
            "they are lost"
        )
    if found > message.size and not whole_range:
        return (
            f"the batch had {message.size} of the {found} records in its range: the mapping "
            "filters, or reads a shard in parallel. --whole-range sends all of them, those that "
            "were handled too"
        )
    return None


_NO_PLACE = Sent(Answer.FAILED, "the entry has no sequence number")


def _place(entry: Any) -> tuple[str | None, str]:
    kinesis = entry.get("kinesis") if isinstance(entry, dict) else None
    if not isinstance(kinesis, dict) or not isinstance(kinesis.get("sequenceNumber"), str):
        return None, ""
    return kinesis["sequenceNumber"], str(kinesis.get("partitionKey", ""))


def read_response(response: Any) -> Sent:
    """What the response of a function with any code means: what Lambda would take it for, given
    ``ReportBatchItemFailures``."""
    failures = response.get("batchItemFailures") if isinstance(response, dict) else None
    if failures:
        return Sent(Answer.FAILED, "the function reports it as failed")
    return Sent(Answer.HANDLED)
