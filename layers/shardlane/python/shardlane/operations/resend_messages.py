"""On-failure messages from where they wait to the function that failed: only the flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from shardlane.event_entry import RawRecord
from shardlane.operations.clients import Clients
from shardlane.operations.errors import OperationError
from shardlane.operations.mapping import function_name
from shardlane.operations.message_source import Letter, MessageSource
from shardlane.operations.on_failure_message import OnFailureMessage, messages_in
from shardlane.operations.record_view import record_from_stream
from shardlane.operations.stream_reader import StreamReader
from shardlane.operations.unordered import (
    Fate,
    Journal,
    Resent,
    read_response,
    resend,
    why_not_whole,
)
from shardlane.parking.lambda_send import ANSWER_WAIT_S, LambdaSend
from shardlane.parking.redrive import Send, Sent

MOST_RECORDS = 100_000
"""Between a batch's first and last number; a batch has 10,000, and filters leave gaps."""


@dataclass(slots=True)
class Resender:
    """``function``: messages of other functions are left where they are; None takes each message
    to the function that it names."""

    clients: Clients
    source: MessageSource
    journal: Journal
    function: str | None = None
    whole_range: bool = False
    _sends: dict[str, Send] = field(default_factory=dict)

    def run(self) -> Iterator[tuple[Letter, Resent]]:
        """Each message and what became of it, as it happens."""
        for letter in self.source.letters():
            yield letter, self._resent(letter)

    def _resent(self, letter: Letter) -> Resent:
        try:
            done = self._sent(letter)
        except OperationError as error:
            done = _kept(str(error))
        if done.fate is Fate.DONE:
            self.source.delete(letter)
        else:
            self.source.give_back(letter)
        return done

    def _sent(self, letter: Letter) -> Resent:
        (message, *others) = messages_in(letter.text)
        if others:
            raise OperationError("several messages in one")
        target = message.function_arn
        if self.function is not None and _plain(target) != _plain(self.function):
            return _kept(f"it is of {function_name(target)}")
        entries = list(self._entries(message))
        if message.entries is None:
            reason = why_not_whole(
                message,
                len(entries),
                first=entries[0]["kinesis"]["sequenceNumber"] if entries else None,
                whole_range=self.whole_range,
            )
            if reason is not None:
                return _kept(reason)
        send = self._send_to(self.function or target)
        return resend(letter.id, entries, self._holding(letter, send), self.journal)

    def _entries(self, message: OnFailureMessage) -> Iterator[RawRecord]:
        if message.entries is not None:
            yield from message.entries
            return
        reader = StreamReader(self.clients("kinesis"), message.stream_arn)
        found = reader.records(message.shard_id, message.first, most=MOST_RECORDS)
        last = int(message.last)
        for read in takewhile(lambda each: int(each.sequence_number) <= last, found):
            yield record_from_stream(read, message.stream, message.stream_arn).to_event()

    def _holding(self, letter: Letter, send: Send) -> Send:
        def held(entry: dict[str, Any]) -> Sent:
            self.source.hold(letter)
            return send(entry)

        return held

    def _send_to(self, function: str) -> Send:
        if function not in self._sends:
            self._sends[function] = function_send(self.clients, function, read=read_response)
        return self._sends[function]


def function_send(
    clients: Clients, function: str, *, read: Callable[[Any], Sent] | None = None
) -> LambdaSend:
    """To a function, waiting as long as it may run."""
    timeout_s = function_timeout_s(clients, function)
    client = clients("lambda", answer_within_s=timeout_s + ANSWER_WAIT_S)
    return LambdaSend(function, timeout_s=timeout_s, client=client, read=read)


def function_timeout_s(clients: Clients, function: str) -> int:
    return int(clients("lambda").get_function_configuration(FunctionName=function)["Timeout"])


def _plain(function: str) -> str:
    """The bare name: an alias differs between a mapping and a person."""
    return function_name(function).partition(":")[0]


def _kept(reason: str) -> Resent:
    return Resent(fate=Fate.KEPT, handled=0, reason=reason)
