"""boto3's Kinesis clients as the consumer needs them: no retries, plain times, quick answers."""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardlane.consumer.direct_calls import DirectCalls, direct_calls, metadata
from shardlane.consumer.http_pool import Limits

CALL_TIMEOUT_S = 30.0
"""For an answer of 10 MiB on a slow line."""
STREAM_TIMEOUT_S = 40.0
"""Longer than a reader waits for an event: it is the reader that gives up first."""


class AnswerParser:
    """Reads answers of GetRecords itself, and leaves all others to botocore's parser.

    botocore walks through a model of the answer for every field of every record, which costs more
    than everything else that happens to the record here.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def parse(self, response: Mapping[str, Any], shape: Any) -> Any:
        """``shape`` is botocore's model of the answer."""
        if shape is None or shape.name != "GetRecordsOutput" or response["status_code"] != 200:
            return self._inner.parse(response, shape)
        headers = {name.lower(): value for name, value in response["headers"].items()}
        return {**records_in(response["body"]), "ResponseMetadata": metadata(200, headers)}


def records_in(body: bytes) -> dict[str, Any]:
    """The answer of GetRecords. Raises ``ValueError`` for what is none: something between here and
    the service may answer."""
    answer = json.loads(body)
    try:
        for record in answer["Records"]:
            record["Data"] = a2b_base64(record["Data"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no answer of GetRecords: {body[:80]!r}") from error
    return dict(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """What asks the service."""

    calls: Any
    subscriptions: Any
    reads: DirectCalls | None
    """None: GetRecords is one of the calls."""

    def close(self) -> None:
        self.calls.close()
        self.subscriptions.close()
        if self.reads is not None:
            self.reads.close()


def make_clients(options: Mapping[str, Any], *, direct: bool = True) -> Clients:
    """``options`` go to ``create_client``, but ``profile``, which names the profile. ``direct``:
    whether GetRecords may go without boto3.

    A session of their own: its parser is not what other clients of the process expect.
    """
    from botocore.config import Config
    from botocore.parsers import ResponseParserFactory
    from botocore.session import Session

    class ParserFactory(ResponseParserFactory):  # type: ignore[misc]
        def create_parser(self, protocol_name: str) -> AnswerParser:
            return AnswerParser(super().create_parser(protocol_name))

    options = dict(options)
    session = Session(profile=options.pop("profile", None))
    factory = ParserFactory()
    factory.set_parser_defaults(timestamp_parser=float)
    session.register_component("response_parser_factory", factory)
    limits = Limits(silence_s=CALL_TIMEOUT_S)
    calls = session.create_client("kinesis", config=_config(Config, CALL_TIMEOUT_S), **options)
    return Clients(
        calls=calls,
        subscriptions=session.create_client(
            "kinesis", config=_config(Config, STREAM_TIMEOUT_S), **options
        ),
        reads=direct_calls(session, calls, options, limits=limits, read=records_in)
        if direct
        else None,
    )


def _config(config: Any, read_timeout_s: float) -> Any:
    return config(
        connect_timeout=5,
        read_timeout=read_timeout_s,
        retries={"total_max_attempts": 1},
        max_pool_connections=256,
        tcp_keepalive=True,
    )
