"""What a record's view shows, and what it keeps to itself."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from shardlane import Record
from shardlane.operations.record_view import (
    Shown,
    as_json,
    as_lines,
    kind_of,
    payload_text,
    record_from_entry,
)
from shardlane.operations.wording import bytes_text, counted, duration, moment, shown_key, table
from tests.unit.shardlane.entries import entry
from tests.unit.shardlane.packed import packed

NOTHING = Shown(keys=False, payload=False)
ALL = Shown(keys=True, payload=True)


def record(data: bytes, key: str = "alice@example.org") -> Record:
    return Record(
        stream="order-events",
        shard_id="shardId-000000000000",
        sequence_number="4711",
        partition_key=key,
        data=data,
        arrival_ms=1_780_000_000_071,
    )


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"n": 1}', "JSON object"),
        (b"[1]", "JSON array"),
        (b'"x"', "JSON string"),
        (b"1.5", "JSON number"),
        (b"true", "JSON boolean"),
        (b"null", "JSON null"),
        (b"hello", "text that is not JSON"),
        (b"", "empty"),
        (b"\xff\x00", "binary (not UTF-8 at byte 0)"),
        (gzip.compress(b"{}", mtime=0), "gzip"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_kind_of_data(data: bytes, kind: str) -> None:
    assert kind_of(data) == kind


def test_an_aggregate_says_how_many_records_it_has() -> None:
    assert kind_of(packed([("a", b"1"), ("b", b"2")])) == "a KPL aggregate of 2 records"


def test_key_and_payload_are_shown_only_if_asked_for() -> None:
    secret = record(b'{"card": "4111"}')
    bare = "\n".join(as_lines(secret, NOTHING)) + str(as_json(secret, NOTHING))
    assert "4711" in bare
    assert "alice" not in bare
    assert "4111" not in bare
    full = "\n".join(as_lines(secret, ALL)) + str(as_json(secret, ALL))
    assert "alice@example.org" in full
    assert '|   "card": "4111"' in full


def test_a_payload_cannot_give_orders_to_the_terminal() -> None:
    assert payload_text(b"\x1b[2Jhello\nworld") == "\\x1b[2Jhello\nworld"
    assert payload_text(b"\xff") == "/w=="


def test_a_damaged_entry_is_shown_as_far_as_it_can_be_read() -> None:
    damaged: Any = entry(1, "alice")
    damaged["kinesis"]["data"] = "@@@@"
    lines = "\n".join(as_lines(record_from_entry(damaged), NOTHING))
    assert "data     cannot be read: " in lines
    assert "data_error" in as_json(record_from_entry(damaged), NOTHING)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0 ms"),
        (850, "850 ms"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (3_601_000, "1 h"),
        (90_061_000, "1 d 1 h"),
    ],
    ids=str,
)
def test_durations(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_wording() -> None:
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert (counted(1, "key"), counted(2_000, "key")) == ("1 key", "2,000 keys")
    assert bytes_text(1_234) == "1,234 bytes"
    assert shown_key("bob", in_clear=False) == "sha256:81b637d8fcd2…"
    assert table([("a", "1"), ("bbb", "22")], ("X", "Y")) == ["X    Y", "a    1", "bbb  22"]
