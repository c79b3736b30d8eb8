"""Tokens are read by their maker only."""

from __future__ import annotations

import pytest

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.token import Page, ShardIterator, page, shard_iterator

ITERATOR = ShardIterator(generation=3, shard=7, index=12_345_678_901, issued_ms=1.78e12, serial=9)
PAGE = Page("ListShards", 3, "shardId-000000000007", 1.78e12, {"filter": "AT_LATEST"})


def test_a_token_says_what_was_put_into_it() -> None:
    assert shard_iterator(ITERATOR.text()) == ITERATOR
    assert page(PAGE.text(), "ListShards") == PAGE


@pytest.mark.parametrize("at", range(44))
def test_a_changed_iterator_is_refused(at: int) -> None:
    text = ITERATOR.text()
    other = "A" if text[at] != "A" else "B"
    with pytest.raises(ServiceError, match="Invalid ShardIterator"):
        shard_iterator(text[:at] + other + text[at + 1 :])


def test_one_kind_of_token_is_not_the_other() -> None:
    with pytest.raises(ServiceError, match="Invalid ShardIterator"):
        shard_iterator(PAGE.text())
    with pytest.raises(ServiceError, match="NextToken is invalid"):
        page(ITERATOR.text(), "ListShards")
    with pytest.raises(ServiceError, match="belongs to ListShards"):
        page(PAGE.text(), "ListStreamConsumers")
