"""One poison key among a thousand on a busy shard, under each policy; and an outage of all."""

from __future__ import annotations

from functools import cache

import pytest

from shardlane_lab.poison import PoisonRun, PoisonSetting, Policy, run_poison

SETTING = PoisonSetting(seconds=36, poison_from_s=6, fixed_s=30)
FEW_KEYS = PoisonSetting(keys=20, records_per_s=50, seconds=30, poison_from_s=5, fixed_s=20)
OUTAGE = PoisonSetting(
    records_per_s=100, seconds=45, poison_from_s=10, fixed_s=30, everything=True, attempts=1
)
MOST_QUARANTINED = 100
"""``ParkingLot``'s own bound."""


@cache
def play(policy: Policy, setting: PoisonSetting = SETTING) -> PoisonRun:
    return run_poison(policy, seed=1, setting=setting)


def test_parking_costs_the_other_keys_nothing() -> None:
    healthy, parked = play("none").others_delay_ms(99), play("park").others_delay_ms(99)
    assert parked <= 1.1 * healthy
    assert play("park").most_quarantined == 1


@pytest.mark.parametrize("policy", ["stop", "powertools"])
def test_without_parking_one_key_blocks_its_shard(policy: Policy) -> None:
    # For about as long as the record is poison: 24 s.
    assert play(policy).others_delay_ms(90) > 20 * play("park").others_delay_ms(90)
    assert play(policy).others_delay_ms(100) > 20_000


@pytest.mark.parametrize("policy", ["none", "park", "stop", "powertools"])
def test_every_record_is_handled(policy: Policy) -> None:
    run = play(policy)
    assert len(run.records) == SETTING.seconds * SETTING.records_per_s
    assert all(record.effects >= 1 for record in run.records)
    assert sum(len(delays) for delays in run.delays_ms.values()) == len(run.records)


def test_the_policies_are_tried_on_the_same_records() -> None:
    first, *others = [play(policy) for policy in ("none", "park", "stop", "powertools")]
    assert first.poison_key in first.delays_ms
    for other in others:
        assert other.poison_key == first.poison_key
        assert [each.key for each in other.records] == [each.key for each in first.records]


def test_the_poison_key_waits_for_the_fix_alone() -> None:
    run = play("park")
    assert max(run.delays_ms[run.poison_key]) > 20_000
    assert run.duplicates == 0
    assert run.inversions == 0


def test_with_few_keys_powertools_breaks_the_order_of_the_poison_key() -> None:
    theirs, ours = play("powertools", FEW_KEYS), play("stop", FEW_KEYS)
    assert theirs.inversions > 0
    assert theirs.duplicates > 0
    assert ours.inversions == 0
    assert ours.duplicates == 0


def test_an_outage_parks_no_more_than_its_bound_and_ends_by_itself() -> None:
    run = play("park", OUTAGE)
    assert 0 < run.most_quarantined <= MOST_QUARANTINED
    assert run.inversions == 0
    assert run.duplicates == 0
    # Half a minute is the longest pause between two tries of a mapping.
    late = [each for each in run.records if each.arrival_s >= OUTAGE.poison_from_s]
    assert max(each.done_s for each in late) < OUTAGE.fixed_s + 35


def test_the_same_seed_is_the_same_run() -> None:
    small = PoisonSetting(keys=5, records_per_s=20, seconds=6, poison_from_s=1, fixed_s=3)
    assert run_poison("park", seed=3, setting=small) == run_poison("park", seed=3, setting=small)
    assert run_poison("park", seed=3, setting=small) != run_poison("park", seed=4, setting=small)


def test_what_is_not_allowed_is_named() -> None:
    with pytest.raises(ValueError, match="policy='skip'"):
        run_poison("skip", seed=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fixed_s=5"):
        PoisonSetting(poison_from_s=10, fixed_s=5)
    with pytest.raises(ValueError, match="records_per_s=2000"):
        PoisonSetting(records_per_s=2_000)
