from __future__ import annotations

from shardlane_lab.local_aws.queue_metrics import QueueAges
from shardlane_lab.metric import dimensions


def test_the_depth_is_told_and_the_age_since_it_was_last_empty() -> None:
    ages = QueueAges()
    told = [
        tuple(each.value for each in ages.data("given-up", depth, at_ms))
        for at_ms, depth in ((0, 0), (10_000, 3), (30_000, 5), (40_000, 0), (50_000, 1))
    ]
    assert told == [(0, 0), (3, 0), (5, 20), (0, 0), (1, 0)]


def test_each_queue_has_an_age_of_its_own_under_its_name() -> None:
    ages = QueueAges()
    list(ages.data("one", 1, 0))
    (depth, age) = ages.data("two", 1, 60_000)
    assert (depth.namespace, depth.dimensions) == ("AWS/SQS", dimensions(QueueName="two"))
    assert (age.name, age.value, age.unit) == ("ApproximateAgeOfOldestMessage", 0, "Seconds")
    assert [each.value for each in ages.data("one", 1, 60_000)] == [1, 60]
