"""Every verb of the lease protocol as one conditional request of DynamoDB.

The conditions and effects are those of ``lease``; one contract suite holds both to it.
"""

from __future__ import annotations

from typing import Any

from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_item import LeaseKeys, item_of

Request = dict[str, Any]

_MINE = "(leaseOwner = :me AND attribute_not_exists(checkpointOwner))"
_MINE_TO_FINISH = "checkpointOwner = :me"


def create(table: str, keys: LeaseKeys, lease: Lease) -> Request:
    """PutItem."""
    return {
        "TableName": table,
        "Item": item_of(lease, keys),
        "ConditionExpression": "attribute_not_exists(leaseKey)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def write(
    table: str, keys: LeaseKeys, shard_id: str, counter: int, me: str, change: Change
) -> Request:
    """UpdateItem."""
    sets = ["leaseCounter = :next"]
    removes: list[str] = []
    values: dict[str, dict[str, Any]] = {
        ":c": _number(counter),
        ":next": _number(counter + 1),
        ":me": {"S": me},
    }
    if change.checkpoint is not None:
        sets += ["#checkpoint = :checkpoint", "checkpointSubSequenceNumber = :sub"]
        sets.append("ownerSwitchesSinceCheckpoint = :zero")
        removes += ["pendingCheckpoint", "pendingCheckpointSubSequenceNumber"]
        removes.append("pendingCheckpointState")
        values[":checkpoint"] = {"S": change.checkpoint.value}
        values[":sub"] = _number(change.checkpoint.sub)
        values[":zero"] = _number(0)
    if change.start_ms is not None:
        sets.append("slStartMs = :start")
        values[":start"] = _number(change.start_ms)
    if change.children:
        sets.append("childShardIds = :children")
        values[":children"] = {"SS": sorted(change.children)}
    if change.give_up:
        removes.append("checkpointOwner" if change.handing_over else "leaseOwner")
    request = _update(table, keys, shard_id, sets, removes, values)
    request["ConditionExpression"] = f"leaseCounter = :c AND {_held(change)}"
    if change.checkpoint is not None:
        request["ExpressionAttributeNames"] = {"#checkpoint": "checkpoint"}
    return request


def owner_check(table: str, keys: LeaseKeys, shard_id: str, me: str) -> Request:
    """ConditionCheck of TransactWriteItems."""
    return {
        "TableName": table,
        "Key": keys.key(shard_id),
        "ConditionExpression": f"{_MINE} OR {_MINE_TO_FINISH}",
        "ExpressionAttributeValues": {":me": {"S": me}},
    }


def _held(change: Change) -> str:
    if not change.give_up:
        return f"({_MINE} OR {_MINE_TO_FINISH})"
    return _MINE_TO_FINISH if change.handing_over else _MINE


def take(table: str, keys: LeaseKeys, seen: Lease, me: str, start_ms: int | None) -> Request:
    """UpdateItem."""
    sets = ["leaseOwner = :me", "leaseCounter = :next", "slStreamCreated = :created"]
    sets.append("slStreamName = :stream")
    values: dict[str, dict[str, Any]] = {
        ":me": {"S": me},
        ":c": _number(seen.counter),
        ":next": _number(seen.counter + 1),
        ":created": _number(keys.stream.created_ms),
        ":stream": {"S": keys.stream.name},
    }
    if start_ms is not None:
        sets.append("slStartMs = if_not_exists(slStartMs, :start)")
        values[":start"] = _number(start_ms)
    if seen.owner is None:
        unchanged = "attribute_not_exists(leaseOwner)"
    else:
        unchanged = "leaseOwner = :seen"
        values[":seen"] = {"S": seen.owner}
    request = _update(table, keys, seen.shard_id, sets, ["checkpointOwner"], values)
    if seen.owner not in (None, me):
        request["UpdateExpression"] += " ADD ownerSwitchesSinceCheckpoint :one"
        values[":one"] = _number(1)
    request["ConditionExpression"] = f"leaseCounter = :c AND {unchanged}"
    return request


def hand_off(table: str, keys: LeaseKeys, shard_id: str, owner: str, me: str) -> Request:
    """UpdateItem."""
    sets = ["leaseOwner = :me", "checkpointOwner = :owner"]
    values = {":me": {"S": me}, ":owner": {"S": owner}}
    request = _update(table, keys, shard_id, sets, [], values)
    request["ConditionExpression"] = "leaseOwner = :owner AND attribute_not_exists(checkpointOwner)"
    return request


def delete(table: str, keys: LeaseKeys, shard_id: str, counter: int) -> Request:
    """DeleteItem."""
    return {
        "TableName": table,
        "Key": keys.key(shard_id),
        "ConditionExpression": "leaseCounter = :c",
        "ExpressionAttributeValues": {":c": _number(counter)},
        "ReturnValues": "ALL_OLD",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _update(
    table: str,
    keys: LeaseKeys,
    shard_id: str,
    sets: list[str],
    removes: list[str],
    values: dict[str, dict[str, Any]],
) -> Request:
    expression = "SET " + ", ".join(sets)
    if removes:
        expression += " REMOVE " + ", ".join(removes)
    return {
        "TableName": table,
        "Key": keys.key(shard_id),
        "UpdateExpression": expression,
        "ExpressionAttributeValues": values,
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}
