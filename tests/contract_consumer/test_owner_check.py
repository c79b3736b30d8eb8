"""The condition that a transaction elsewhere puts on a lease: exactly its holder passes."""

from __future__ import annotations

import asyncio

import boto3
import pytest

from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_store import Done, LeaseTable
from tests.contract_consumer.lease_tables import ME, OTHER, LeaseTables, row


async def taken(leases: LeaseTable, me: str) -> None:
    free = Lease(shard_id="s")
    await leases.create(free)
    assert isinstance(await leases.take(free, me, None), Done)


async def free(leases: LeaseTable) -> None:
    await leases.create(Lease(shard_id="s"))


async def mine(leases: LeaseTable) -> None:
    await taken(leases, ME)


async def anothers(leases: LeaseTable) -> None:
    await taken(leases, OTHER)


async def mine_to_finish(leases: LeaseTable) -> None:
    """Another waits for it."""
    await taken(leases, ME)
    assert isinstance(await leases.hand_off("s", ME, OTHER), Done)


async def promised_to_me(leases: LeaseTable) -> None:
    """Another still finishes it."""
    await taken(leases, OTHER)
    assert isinstance(await leases.hand_off("s", OTHER, ME), Done)


async def given_up_by_me(leases: LeaseTable) -> None:
    await mine_to_finish(leases)
    found = await row(leases)
    assert found is not None
    given_up = Change(give_up=True, handing_over=True)
    assert isinstance(await leases.write("s", found.counter, ME, given_up), Done)


async def gone(leases: LeaseTable) -> None:
    """Somebody deleted it."""


@pytest.mark.parametrize("kind", ["dynamodb", "dynamodb-multi-stream"])
@pytest.mark.parametrize(
    ("state", "passes"),
    [
        (free, False),
        (mine, True),
        (anothers, False),
        (mine_to_finish, True),
        (promised_to_me, False),
        (given_up_by_me, False),
        (gone, False),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_transaction_passes_for_who_holds_the_lease(
    state: object, passes: bool, kind: str, tables: LeaseTables
) -> None:
    async def main() -> bool:
        leases = await tables.empty(kind)
        await state(leases)  # type: ignore[operator]
        check = leases.owner_check("s", ME)
        assert check is not None
        client = boto3.client("dynamodb", region_name="eu-west-1")
        try:
            client.transact_write_items(TransactItems=[{"ConditionCheck": dict(check)}])
        except client.exceptions.TransactionCanceledException:
            return False
        finally:
            client.close()
        return True

    assert asyncio.run(main()) is passes


def test_where_no_other_process_sees_the_leases_there_is_nothing_to_check(
    tables: LeaseTables,
) -> None:
    async def main() -> object:
        return (await tables.empty("memory")).owner_check("s", ME)

    assert asyncio.run(main()) is None
