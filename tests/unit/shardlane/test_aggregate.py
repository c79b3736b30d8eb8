from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane import aggregate
from shardlane.lambda_batch import AGGREGATE_BASE64
from tests.unit.shardlane.packed import (
    MAGIC,
    field,
    number_field,
    packed,
    packed_message,
    sealed,
)

RECORDS = [("alice", b"one"), ("bob", b"two"), ("alice", b"\xff\x00three")]


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=256), st.binary(max_size=300))), st.booleans()
)
def test_unpacks_what_a_producer_packs(records: list[tuple[str, bytes]], tags: bool) -> None:
    assert aggregate.unpack(packed(records, tags=tags)) == records


def test_unpacks_a_record_of_more_than_one_length_byte() -> None:
    records = [("k", b"x" * 100_000)]
    assert aggregate.unpack(packed(records)) == records


def test_skips_fields_that_it_does_not_know() -> None:
    fixed = bytes([9 << 3 | 1]) + b"12345678" + bytes([10 << 3 | 5]) + b"1234"
    message = fixed + number_field(7, 300) + packed_message(RECORDS)
    assert aggregate.unpack(sealed(message)) == RECORDS


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        MAGIC,
        MAGIC + b"short",
        packed(RECORDS)[:-1] + bytes([packed(RECORDS)[-1] ^ 1]),  # MD5 is another
        b"\xf3\x89\x9a\xc3" + packed(RECORDS)[4:],  # magic is another
        packed(RECORDS) + b"tail",
    ],
)
def test_anything_else_is_a_plain_payload(data: bytes) -> None:
    assert aggregate.unpack(data) is None


@pytest.mark.parametrize(
    "message",
    [
        field(1, b"k") + field(3, number_field(1, 1) + field(3, b"x")),  # no such key
        field(1, b"k") + field(3, number_field(1, 0)),  # no data
        field(1, b"k") + field(3, field(3, b"x")),  # no key
        field(1, b"\xff") + field(3, number_field(1, 0) + field(3, b"x")),  # key not UTF-8
        number_field(1, 5),  # a number for a key
        number_field(3, 5),  # a number for a record
        field(3, b"x")[:-1],  # cut off
        b"\x0a",  # cut off within a length
        bytes([3 << 3 | 3]),  # a wire type that is no more
        b"\xff" * 11,  # a number that does not end
    ],
)
def test_a_damaged_message_is_a_plain_payload(message: bytes) -> None:
    assert aggregate.unpack(sealed(message)) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_it_crash(message: bytes) -> None:
    aggregate.unpack(sealed(message))


@given(st.binary(max_size=9))
def test_the_base64_of_magic_starts_as_it_says(rest: bytes) -> None:
    assert base64.b64encode(MAGIC + rest).decode().startswith(AGGREGATE_BASE64)
