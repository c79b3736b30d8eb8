from __future__ import annotations

import base64
import gzip
import pickle
import zlib
from typing import Any

import pytest

from shardlane import BadRecord, Record
from tests.unit.shardlane.entries import CONSUMER_ARN, SHARD, entry, sequence


def record_of(raw: dict[str, Any]) -> Record:
    return Record.from_event(raw, raw["kinesis"]["sequenceNumber"], raw["kinesis"]["partitionKey"])


def plain(**fields: Any) -> Record:
    values: dict[str, Any] = {
        "stream": "order-events",
        "shard_id": SHARD,
        "sequence_number": sequence(0),
        "partition_key": "alice",
        "data": b'{"n": 1}',
        "arrival_ms": 1_780_000_000_071,
    }
    return Record(**(values | fields))


def test_reads_every_field_of_an_event() -> None:
    record = record_of(entry(0, "alice", b'{"n": 1}'))
    assert record.stream == "order-events"
    assert record.shard_id == SHARD
    assert record.sequence_number == sequence(0)
    assert record.sub_sequence_number == 0
    assert record.partition_key == "alice"
    assert record.data == b'{"n": 1}'
    assert record.arrival_ms == 1_780_000_000_071
    assert record.value is None
    assert record.json() == {"n": 1}
    assert record.text() == '{"n": 1}'


def test_a_registered_consumers_arn_names_the_stream() -> None:
    assert record_of(entry(0, arn=CONSUMER_ARN)).stream == "order-events"


def test_the_view_of_an_event_equals_the_record_made_of_its_fields() -> None:
    view = record_of(entry(0, "alice", b'{"n": 1}'))
    assert view == plain()
    assert hash(view) == hash(plain())
    assert view != plain(sub_sequence_number=1)
    assert view != "alice"


def test_is_frozen() -> None:
    record = plain()
    with pytest.raises(AttributeError, match="frozen"):
        record.data = b"other"
    with pytest.raises(AttributeError, match="frozen"):
        del record.data
    with pytest.raises(AttributeError, match="no attribute 'payload'"):
        record.payload  # noqa: B018


def test_survives_pickling_for_a_process_pool() -> None:
    view = record_of(entry(0, "alice", b'{"n": 1}'))
    assert pickle.loads(pickle.dumps(view)) == plain()


def test_repr_shows_the_place_and_nothing_of_the_content() -> None:
    shown = repr(plain(partition_key="secret-key", data=b"secret-data"))
    assert sequence(0) in shown
    assert "secret" not in shown


def test_headers_say_where_it_came_from() -> None:
    headers = plain().headers
    assert dict(headers) == {
        "partition-key": "alice",
        "kinesis-sequence-number": sequence(0),
        "kinesis-shard-id": SHARD,
    }
    with pytest.raises(TypeError):
        headers["partition-key"] = "bob"  # type: ignore[index]


@pytest.mark.parametrize("record", [record_of(entry(0, "alice", b'{"n": 1}')), plain()])
def test_offers_powertools_view(record: Record) -> None:
    assert record.kinesis.partition_key == "alice"
    assert record.kinesis.sequence_number == sequence(0)
    assert record.kinesis.data_as_json() == {"n": 1}
    assert record.kinesis.approximate_arrival_timestamp == 1780000000.071


def test_an_inner_record_has_its_own_key_and_data_and_the_outer_place() -> None:
    inner = record_of(entry(0, "outer", b"packed")).inner(2, "inner", b"mine")
    assert (inner.sequence_number, inner.sub_sequence_number) == (sequence(0), 2)
    assert (inner.partition_key, inner.data, inner.stream) == ("inner", b"mine", "order-events")
    assert inner.kinesis.data_as_bytes() == b"mine"


def test_carries_a_value_beside_its_fields() -> None:
    view = record_of(entry(0, "alice", b'{"n": 1}')).with_value(7)
    assert view.value == 7
    assert view == plain()
    assert view.kinesis.partition_key == "alice"


@pytest.mark.parametrize("data", ["@@@@", "e30", "e30=\n", "e30==", "é", 5, None, ["e30="]])
def test_data_that_is_not_base64_is_refused(data: object) -> None:
    record = record_of(entry(0, data=b"") | {"kinesis": entry(0)["kinesis"] | {"data": data}})
    with pytest.raises(BadRecord, match=r"kinesis\.data is"):
        record.data  # noqa: B018


def test_empty_data_is_data() -> None:
    assert record_of(entry(0, data=b"")).data == b""


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        (entry(0) | {"eventID": "x"}, "shard_id", "eventID"),
        (entry(0) | {"eventSourceARN": None}, "stream", "eventSourceARN"),
        (entry(0, approximateArrivalTimestamp="soon"), "arrival_ms", "'soon'"),
        (entry(0, approximateArrivalTimestamp=None), "arrival_ms", "None"),
        (entry(0, approximateArrivalTimestamp=float("nan")), "arrival_ms", "nan"),
    ],
)
def test_a_damaged_field_is_refused_when_it_is_used(
    raw: dict[str, Any], field: str, message: str
) -> None:
    record = record_of(raw)
    assert record.data == b"{}"
    with pytest.raises(BadRecord, match=message):
        getattr(record, field)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"\xff", "not UTF-8 text: invalid start byte at byte 0"),
        ("{}".encode("utf-16"), "not UTF-8 text"),
        (b"\x1f\x8b", "not UTF-8 text"),
    ],
)
def test_data_that_is_not_json_is_refused_without_repeating_it(data: bytes, message: str) -> None:
    with pytest.raises(BadRecord, match=message):
        plain(data=data).json()


@pytest.mark.parametrize(
    ("data", "value"),
    [(b' \n{"a": 1}\t\r\n', {"a": 1}), (b" 1", 1), (b"null", None), (b'"x"', "x")],
)
def test_json_may_have_white_space_around_it(data: bytes, value: object) -> None:
    assert plain(data=data).json() == value


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_unpacks_gzip_and_zlib(pack: Any) -> None:
    assert plain(data=pack(b'{"logEvents": []}')).gunzip() == b'{"logEvents": []}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (b"{}", "neither gzip nor zlib"),
        (gzip.compress(b"x", mtime=0)[:-9], "cut off"),
        (b"\x1f\x8b", "cut off"),
        (gzip.compress(b"x" * 1_001, mtime=0), "more than 1000 bytes"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadRecord, match=message):
        plain(data=data).gunzip(most_bytes=1_000)


def test_a_value_keeps_what_a_kind_of_record_adds() -> None:
    class Leased(Record):
        __slots__ = ("fence",)

    record = Leased(
        stream="s",
        shard_id=SHARD,
        sequence_number="1",
        partition_key="k",
        data=b"",
        arrival_ms=1,
    )
    Leased.fence.__set__(record, 7)  # type: ignore[attr-defined]
    kept: Any = record.with_value("v")
    assert (type(kept), kept.fence, kept.value) == (Leased, 7, "v")


def test_a_parked_record_becomes_an_event_again() -> None:
    raw: Any = plain().to_event()
    assert base64.b64decode(raw["kinesis"]["data"]) == b'{"n": 1}'
    assert raw["eventID"] == f"{SHARD}:{sequence(0)}"
