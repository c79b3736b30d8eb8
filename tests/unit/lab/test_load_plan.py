"""The load of an experiment: what is sent when, with which key and payload."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

from shardlane import Record, SettingsError
from shardlane.latency import load_payload_of
from shardlane.load import POISON, LoadPlan, Planned, load_plan


def plan(**values: Any) -> LoadPlan:
    return LoadPlan(**{"seconds": 10.0, "rate_per_s": 5.0, **values})


def times_s(made: LoadPlan) -> list[float]:
    return [each.at_ms / 1000 for each in made.planned()]


def test_a_steady_load_is_evenly_spaced_with_keys_in_turn() -> None:
    records = plan(keys=3).planned()
    assert [each.at_ms for each in records] == [200.0 * number for number in range(50)]
    assert [each.seq for each in records] == list(range(50))
    assert [each.key for each in records[:4]] == ["key-0", "key-1", "key-2", "key-0"]


def test_steps_change_the_rate_from_their_moment_on() -> None:
    times = times_s(plan(steps=((4.0, 0.0), (6.0, 20.0))))
    assert sum(at_s < 4 for at_s in times) == 20
    assert sum(4 <= at_s < 6 for at_s in times) == 0
    assert sum(at_s >= 6 for at_s in times) == 80
    assert times == sorted(times)


def test_a_burst_comes_on_top_and_at_once() -> None:
    times = times_s(plan(bursts=((3.05, 100),)))
    assert Counter(times)[3.05] == 100
    assert len(times) == 150


def test_poison_has_no_number_and_takes_none_from_the_others() -> None:
    records = plan(poison=((5.0, 7),)).planned()
    (bad,) = [each for each in records if each.seq is None]
    assert (bad.at_ms, bad.key) == (5000.0, "key-7")
    assert [each.seq for each in records if each.seq is not None] == list(range(50))
    assert plan().payload(bad, 1.0, 2.0) == POISON


def test_a_hot_key_has_its_share() -> None:
    keys = Counter(each.key for each in plan(seconds=1000.0, hot_key_share=0.5).planned())
    assert keys["key-0"] / 5000 == pytest.approx(0.5, abs=0.03)
    assert set(keys) == {f"key-{number}" for number in range(10)}


@pytest.mark.parametrize(("distribution", "most"), [("uniform", 0.1), ("zipf", 0.341)])
def test_keys_by_lot(distribution: str, most: float) -> None:
    keys = Counter(each.key for each in plan(seconds=1000.0, distribution=distribution).planned())
    assert max(keys.values()) / 5000 == pytest.approx(most, abs=0.03)
    assert len(keys) == 10


def test_the_same_seed_gives_the_same_keys() -> None:
    first, again, other = (
        [each.key for each in plan(distribution="zipf", seed=seed).planned()] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def read(data: bytes) -> Record:
    return Record(
        stream="s", shard_id="0", sequence_number="1", partition_key="k", data=data, arrival_ms=0
    )


def test_a_payload_is_what_the_consumers_read_and_as_long_as_asked() -> None:
    made = plan(record_bytes=1000, handle_ms=5.0)
    data = made.payload(Planned(0.0, "key-0", 3), 1_780_000_000_000.25, 1_780_000_000_000.0)
    load = load_payload_of(read(data))
    assert (load.seq, load.sent_ms, load.handle_ms) == (3, 1_780_000_000_000.25, 5.0)
    assert load.scheduled_ms == 1_780_000_000_000.0
    assert len(data) == 1000


def test_a_payload_is_never_cut() -> None:
    data = plan(record_bytes=1).payload(Planned(0.0, "key-0", 0), 1.0, 2.0)
    assert json.loads(data) == {"seq": 0, "sent_ms": 1.0, "scheduled_ms": 2.0}


def test_a_key_has_one_sender() -> None:
    made = plan(senders=8, keys=100)
    of_key = {each.key: made.sender_of(each.key) for each in made.planned()}
    assert set(of_key.values()) <= set(range(8))
    assert len(set(of_key.values())) > 4
    assert all(made.sender_of(key) == sender for key, sender in of_key.items())


def test_a_plan_survives_json() -> None:
    made = plan(steps=((4.0, 2.0),), bursts=((1.0, 3),), poison=((2.0, 1),), senders=4)
    assert load_plan(json.loads(json.dumps(asdict(made)))) == made


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"seconds": 1.0}, "not complete: .*rate_per_s"),
        ({"seconds": 1.0, "rate_per_s": 1.0, "speed": 1}, "speed is no part of a load; allowed: "),
        ({"seconds": 1.0, "rate_per_s": 1.0, "senders": 0}, "senders is 0; allowed: 1 to 64"),
        ({"seconds": 1.0, "rate_per_s": 1.0, "distribution": "odd"}, "'odd'; allowed: turns, "),
    ],
)
def test_a_bad_load_is_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_plan(values)
