"""Several ``shardlane consume`` share a stream: kills, hand-overs and resharding, for real."""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime

import pytest

from tests.flows.consumer.conftest import StartConsumer
from tests.flows.consumer.consumer_process import ConsumerProcess, Handled, first_handlings
from tests.flows.consumer.local_services import LocalServices
from tests.flows.consumer.steady_producer import SteadyProducer

SHARED = ("--start", "horizon", "--workers", "8", "--by-key")


def all_handled(*consumers: ConsumerProcess) -> list[Handled]:
    return [each for consumer in consumers for each in consumer.handled]


def holding(services: LocalServices, table: str) -> dict[str, int]:
    """How many shards each owner has."""
    counts: dict[str, int] = {}
    for owner in services.owners(table).values():
        counts[str(owner)] = counts.get(str(owner), 0) + 1
    return counts


def until_even(services: LocalServices, table: str, consumer: ConsumerProcess, most: int) -> None:
    def is_even() -> bool:
        counts = holding(services, table)
        return "None" not in counts and max(counts.values()) <= most

    consumer.until(lambda: bool(services.owners(table)) and is_even(), "even load")


@pytest.mark.slow(reason="a lease has to run out, which takes ten seconds of real time")
def test_a_kill_a_split_and_a_merge_lose_nothing_and_keep_every_order(
    services: LocalServices, start: StartConsumer
) -> None:
    """Three consumers on four shards at 500 records a second; one is killed, another comes."""
    stream, table = "fleet", "fleet-leases"
    services.create_stream(stream, shards=4)
    options = (stream, *SHARED, "--leases", f"dynamodb:{table}")
    consumers = [start(f"c{number}", services, *options) for number in range(3)]
    consumers[0].until(lambda: "taken" in consumers[0].said, "lease")
    producer = SteadyProducer(stream, services.variables, rate_per_s=500, keys=60)
    try:
        until_even(services, table, consumers[0], most=2)
        consumers[1].until_handled(200)
        victim = consumers[1]
        before = {each.shard_id for each in victim.handled[-100:]}
        victim.kill()
        killed_s = time.monotonic()
        consumers.append(start("c3", services, *options))
        untouched = [s for s in services.open_shards(stream) if s["ShardId"] not in before]
        services.split(stream, untouched[0])
        first, second, *_ = services.open_shards(stream)
        services.merge(stream, first, second)
        others = [each for each in consumers if each is not victim]
        others[0].until(lambda: bool(_taken_over(others, before, killed_s)), "fail-over")
        taken_over = _taken_over(others, before, killed_s)
    finally:
        sent = producer.stop()
    others[0].until(
        lambda: len({each.data for each in all_handled(*consumers)}) == sent, "end of the stream"
    )
    for key, numbers in first_handlings(all_handled(*consumers)).items():
        assert numbers == sorted(numbers), key
    assert min(taken_over) - killed_s <= 15
    for each in others:
        ended = each.stop()
        assert ended.status == 0, ended.said
        assert leases(each, "taken") == leases(each, "released|ended"), ended.said
    # A lease that was asked for a moment before the end stays with who asked, and runs out.
    left = [owner for owner in services.owners(table).values() if owner is not None]
    assert not [owner for owner in left if victim.is_worker(owner)]


def leases(consumer: ConsumerProcess, what: str) -> Counter[str]:
    """How often it logged that of each shard."""
    return Counter(re.findall(rf" INFO (\S+): (?:{what})\b", consumer.said))


def _taken_over(others: list[ConsumerProcess], shards: set[str], since_s: float) -> list[float]:
    """When the first record of a dead one's shard was handled by another."""
    return [
        each.at_s
        for each in all_handled(*others)
        if each.shard_id in shards and each.at_s > since_s
    ]


@pytest.mark.slow(reason="two processes start, read, and hand a lease over in real time")
@pytest.mark.parametrize(
    ("source", "most_s"), [("polling", 2.0), ("efo:app", 7.0)], ids=["polling", "fan-out"]
)
def test_a_planned_hand_over_is_quick_and_repeats_nothing(
    services: LocalServices, start: StartConsumer, source: str, most_s: float
) -> None:
    name = source.replace(":", "-")
    stream, table = f"hand-over-{name}", f"hand-over-{name}-leases"
    services.create_stream(stream, shards=2)
    options = (stream, *SHARED, "--leases", f"dynamodb:{table}", "--source", source)
    first = start("first", services, *options)
    first.until(lambda: first.said.count("taken") == 2, "leases")
    producer = SteadyProducer(stream, services.variables, rate_per_s=100, keys=20)
    try:
        first.until_handled(50)
        second = start("second", services, *options)
        second.until_handled(50)
    finally:
        sent = producer.stop()
    second.until(lambda: len(all_handled(first, second)) >= sent, "end of the stream")
    handled = all_handled(first, second)
    assert sorted(int(each.data) for each in handled) == list(range(sent))
    for key, numbers in first_handlings(handled).items():
        assert numbers == sorted(numbers), key
    assert second.handled[0].at_s - _released_s(first) <= most_s


def _released_s(consumer: ConsumerProcess) -> float:
    """When it logged that it had released a shard, on the monotonic clock."""
    found = re.search(r"^(\S+ \S+),(\d+) INFO \S+: released", consumer.said, re.MULTILINE)
    assert found is not None, consumer.said
    wall_s = datetime.fromisoformat(found[1]).timestamp() + int(found[2]) / 1000
    return time.monotonic() - (time.time() - wall_s)
