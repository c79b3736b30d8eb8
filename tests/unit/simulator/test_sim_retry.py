"""Our retry rules are botocore's own, number by number and decision by decision."""

from __future__ import annotations

from random import Random
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.retries import quota, standard

from shardlane_lab.simulator.retry import RetryingClient, RetryRules
from tests.unit.simulator.botocore_retries import BotocoreRetries


def test_attempts_are_those_of_a_client_with_three_retries() -> None:
    config = Config(retries={"mode": "standard", "max_attempts": 3})
    client = boto3.client(
        "kinesis",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=config,
    )
    retries = client.meta.config.retries
    client.close()
    assert retries["total_max_attempts"] == RetryRules().max_attempts


def test_constants_are_those_of_the_installed_botocore() -> None:
    rules = RetryRules()
    checker: Any = standard.RetryQuotaChecker
    backoff: Any = standard.ExponentialBackoff
    assert rules.quota == quota.RetryQuota.INITIAL_CAPACITY
    assert rules.retry_cost == checker._THROTTLING_RETRY_COST
    assert rules.unretried_refund == checker._NO_RETRY_INCREMENT
    assert rules.backoff_cap_s == backoff._MAX_BACKOFF
    assert rules.backoff_base_s == backoff._DEFAULT_BACKOFF_CONFIG["throttling_base_scale"]
    assert rules.backoff_factor == 1.0


@pytest.mark.parametrize("refusals", [0.1, 0.5, 0.7, 0.95])
def test_every_decision_is_botocores(refusals: float) -> None:
    """2,000 calls with a given share of throttles: same pauses, same surfacing, same quota."""
    ours = RetryingClient(RetryRules(), Random(7).random)
    theirs = BotocoreRetries(RetryRules().max_attempts, Random(7).random)
    fate = Random(refusals)
    surfaced = 0
    for _ in range(2000):
        if fate.random() >= refusals:
            ours.succeeded()
            theirs.succeeded()
        else:
            pause_ms, pause_s = ours.refused(), theirs.refused()
            assert (pause_ms is None) == (pause_s is None)
            surfaced += pause_ms is None
            if pause_ms is not None and pause_s is not None:
                assert pause_ms == pytest.approx(pause_s * 1000)
        assert ours.quota == theirs.quota.available_capacity
    assert (surfaced > 0) == (refusals > 0.1)


def test_an_empty_quota_surfaces_a_throttle_at_its_first_attempt() -> None:
    client = RetryingClient(RetryRules(quota=9), Random(1).random)
    assert client.refused() is not None
    assert client.refused() is None
    assert client.quota == client.lowest_quota == 4
    assert client.refused() is None


def test_the_factor_stretches_the_pause_and_nothing_else() -> None:
    plain, stretched = RetryRules(), RetryRules(backoff_factor=1.29)
    for retry in range(1, 7):
        assert stretched.backoff_ms(retry, 0.5) == pytest.approx(
            1.29 * plain.backoff_ms(retry, 0.5)
        )
    assert plain.backoff_ms(6, 1.0) == 20_000
