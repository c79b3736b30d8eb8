"""How gates and parked records are written as DynamoDB items.

One table with the string keys ``pk`` and ``sk``. There is no TTL on either kind: it would delete
payloads.
"""

from __future__ import annotations

from typing import Any

from shardlane.parking.parked import Gate, Parked, StoredPayload

Item = dict[str, Any]
"""Attribute name → DynamoDB's typed value."""


def gates_pk(consumer: str) -> str:
    return f"gate#{consumer}"


def gate_id(consumer: str, hash_: str) -> Item:
    return {"pk": {"S": gates_pk(consumer)}, "sk": {"S": hash_}}


def lot_pk(consumer: str, hash_: str) -> str:
    return f"lot#{consumer}#{hash_}"


def parked_id(record: Parked) -> Item:
    return {
        "pk": {"S": lot_pk(record.consumer, record.key_hash)},
        "sk": {"S": record.place},
    }


def gate_item(gate: Gate) -> Item:
    item = gate_id(gate.consumer, gate.key_hash) | {
        "key": {"S": gate.key},
        "ver": {"N": str(gate.version)},
        "n": {"N": str(gate.count)},
        "since_ms": {"N": str(gate.since_ms)},
        "reason": {"S": gate.reason},
    }
    if gate.holder is not None:
        item |= {"holder": {"S": gate.holder}, "hold_until": {"N": str(gate.hold_until_ms)}}
    return item


def gate_from(item: Item) -> Gate:
    return Gate(
        consumer=item["pk"]["S"].removeprefix("gate#"),
        key=item["key"]["S"],
        version=int(item["ver"]["N"]),
        holder=item["holder"]["S"] if "holder" in item else None,
        hold_until_ms=int(item["hold_until"]["N"]) if "hold_until" in item else None,
        count=int(item["n"]["N"]),
        since_ms=int(item["since_ms"]["N"]),
        reason=item["reason"]["S"],
    )


def parked_item(record: Parked) -> Item:
    item = parked_id(record) | {
        "key": {"S": record.key},
        "stream": {"S": record.stream},
        "source_arn": {"S": record.source_arn},
        "shard_id": {"S": record.shard_id},
        "sequence_number": {"S": record.sequence_number},
        "sub": {"N": str(record.sub_sequence_number)},
        "arrival_ms": {"N": str(record.arrival_ms)},
        "whole_event": {"BOOL": record.whole_event},
        "reason": {"S": record.reason},
        "attempts": {"N": str(record.attempts)},
        "parked_ms": {"N": str(record.parked_ms)},
        "rev": {"S": record.rev},
    }
    if record.stored is None:
        return item | {"data": {"B": record.data}}
    stored = {name: {"S": getattr(record.stored, name)} for name in ("bucket", "key", "sha256")}
    return item | {"s3": {"M": stored}}


def parked_from(item: Item) -> Parked:
    stored = item["s3"]["M"] if "s3" in item else None
    return Parked(
        consumer=item["pk"]["S"].split("#")[1],
        key=item["key"]["S"],
        stream=item["stream"]["S"],
        source_arn=item["source_arn"]["S"],
        shard_id=item["shard_id"]["S"],
        sequence_number=item["sequence_number"]["S"],
        sub_sequence_number=int(item["sub"]["N"]),
        arrival_ms=int(item["arrival_ms"]["N"]),
        data=bytes(item["data"]["B"]) if "data" in item else None,
        stored=stored and StoredPayload(**{name: each["S"] for name, each in stored.items()}),
        whole_event=item["whole_event"]["BOOL"],
        reason=item["reason"]["S"],
        attempts=int(item["attempts"]["N"]),
        parked_ms=int(item["parked_ms"]["N"]),
        rev=item["rev"]["S"],
    )
