"""Every condition of the lease protocol is held by a test: without it, that test fails.

Only ``leaseOwner`` in a WRITE could go: whoever knows the counter is its owner.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from shardlane.consumer import lease as rules
from shardlane.consumer import lease_request as requests
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Done
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from tests.contract_consumer import test_lease_store_contract as contract
from tests.contract_consumer.lease_tables import LeaseTables
from tests.contract_consumer.test_lease_store_contract import Leases


@dataclass(frozen=True)
class Condition:
    """A condition, how each kind of store loses it, and the test that notices."""

    name: str
    in_memory: Callable[[pytest.MonkeyPatch], None]
    verb: str
    """The request that has it in DynamoDB …"""
    fragment: str
    """… and what it says there."""
    test: Callable[[Leases], None]


def rule(name: str, loosened: Callable[..., bool]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(rules, name, loosened)


def create_over(patch: pytest.MonkeyPatch) -> None:
    async def create(self: MemoryLeaseTable, lease: Lease) -> Done:
        self.rows[lease.shard_id] = lease
        return Done(lease)

    patch.setattr(MemoryLeaseTable, "create", create)


CONDITIONS = (
    Condition(
        "CREATE needs that there is none",
        create_over,
        "create",
        "attribute_not_exists(leaseKey)",
        contract.test_create_leaves_an_existing_lease_alone,
    ),
    Condition(
        "WRITE needs the counter",
        rule("may_write", lambda row, counter, me, change: row.held_by(me)),
        "write",
        "leaseCounter = :c AND ",
        contract.test_an_older_checkpoint_cannot_overwrite_a_newer_one,
    ),
    Condition(
        "WRITE of an owner needs that no hand-over to it is under way",
        rule("may_write", lambda row, counter, me, change: rules.counter_stands(row, counter)),
        "write",
        " AND attribute_not_exists(checkpointOwner)",
        contract.test_a_write_waits_for_who_still_finishes,
    ),
    Condition(
        "WRITE of who hands over needs its name",
        rule("may_write", lambda row, counter, me, change: rules.counter_stands(row, counter)),
        "write",
        "checkpointOwner = :me",
        contract.test_a_write_needs_the_name_of_who_finishes,
    ),
    Condition(
        "RELEASE needs to know of a hand-over",
        rule("gives_up_the_right_name", lambda row, change: True),
        "write",
        " AND (leaseOwner = :me AND attribute_not_exists(checkpointOwner))",
        contract.test_a_release_that_does_not_know_of_a_hand_over_is_refused,
    ),
    Condition(
        "TAKE needs the counter",
        rule("may_take", lambda row, seen: row.owner == seen.owner),
        "take",
        "leaseCounter = :c AND ",
        contract.test_a_take_of_what_was_renewed_since_is_refused,
    ),
    Condition(
        "TAKE needs the owner",
        rule("may_take", lambda row, seen: row.counter == seen.counter),
        "take",
        " AND leaseOwner = :seen",
        contract.test_a_take_of_what_was_asked_for_since_is_refused,
    ),
    Condition(
        "HANDOFF needs that owner",
        rule("may_hand_off", lambda row, owner: rules.no_hand_over(row)),
        "hand_off",
        "leaseOwner = :owner AND ",
        contract.test_a_hand_over_of_what_another_took_since_is_refused,
    ),
    Condition(
        "HANDOFF needs that no other is under way",
        rule("may_hand_off", rules.owner_stands),
        "hand_off",
        " AND attribute_not_exists(checkpointOwner)",
        contract.test_a_second_hand_over_is_refused,
    ),
    Condition(
        "DELETE needs the counter",
        rule("may_delete", lambda row, counter: True),
        "delete",
        "leaseCounter = :c",
        contract.test_delete_needs_the_counter,
    ),
)


def without(patch: pytest.MonkeyPatch, condition: Condition) -> None:
    """DynamoDB's side: the fragment is left out of the request's condition."""
    build = getattr(requests, condition.verb)

    def loosened(*given: Any) -> dict[str, Any]:
        request: dict[str, Any] = build(*given)
        before = request["ConditionExpression"]
        after = before.replace(condition.fragment, "").replace("( OR ", "(").replace(" OR )", ")")
        request["ConditionExpression"] = after
        if not after:
            del request["ConditionExpression"]
            request.pop("ReturnValuesOnConditionCheckFailure")
        _drop_unused_values(request)
        return request

    patch.setattr(requests, condition.verb, loosened)


def _drop_unused_values(request: dict[str, Any]) -> None:
    """DynamoDB refuses a value that no expression uses."""
    used = f"{request.get('UpdateExpression', '')} {request.get('ConditionExpression', '')}"
    names = set(re.findall(r":\w+", used))
    values = request.pop("ExpressionAttributeValues", {})
    kept = {name: value for name, value in values.items() if name in names}
    if kept:
        request["ExpressionAttributeValues"] = kept


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda each: each.name)
def test_without_it_a_test_fails_in_memory(
    condition: Condition, tables: LeaseTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases("memory", tables)
    condition.test(leases)
    condition.in_memory(monkeypatch)
    with pytest.raises(AssertionError):
        condition.test(leases)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda each: each.name)
def test_without_it_a_test_fails_in_dynamodb(
    condition: Condition, tables: LeaseTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases("dynamodb", tables)
    condition.test(leases)
    without(monkeypatch, condition)
    with pytest.raises(AssertionError):
        condition.test(leases)
