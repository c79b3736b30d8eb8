"""However a subscription breaks: everything comes once and in order, through boto3 and without."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from tests.contract_consumer.sources import Kind, Scene, play

FAULTS = {
    "exception first": Fault(kind=FaultKind.EXCEPTION_FIRST, probability=0.5),
    "exception event": Fault(kind=FaultKind.EXCEPTION_FRAME, probability=0.3),
    "reset between frames": Fault(kind=FaultKind.CUT_BETWEEN_FRAMES, probability=0.3),
    "end between frames": Fault(kind=FaultKind.CUT_BETWEEN_FRAMES, probability=0.3, reset=False),
    "cut inside a frame": Fault(kind=FaultKind.CUT_INSIDE_FRAME, probability=0.3),
    "truncated frame": Fault(kind=FaultKind.TRUNCATED_FRAME, probability=0.3),
    "corrupt frame": Fault(kind=FaultKind.CORRUPT_CRC, probability=0.3),
    "expired token": Fault(kind=FaultKind.EXCEPTION_FRAME, probability=0.3, code="KMSThrottling"),
    "silence": Fault(kind=FaultKind.SILENCE, probability=0.2),
}


@pytest.mark.parametrize("over_http", [True, False], ids=["boto3", "virtual"])
@pytest.mark.parametrize("name", FAULTS)
def test_it_subscribes_again_after_the_last_record_that_was_delivered(
    name: str, over_http: bool
) -> None:
    async def scene(staged: Scene) -> tuple[list[str], int]:
        # Events come all the time here: half a second without one is as good as silence for ever.
        rules = replace(staged.kind.source.rules, silence_s=0.5)
        subscription = staged.start(source=replace(staged.kind.source, rules=rules))
        for number in range(30):
            staged.put_all(str(number))
            await asyncio.sleep(0.05)
        await staged.until_seen(30)
        subscribed = subscription.stats().counters.subscribes
        await asyncio.sleep(0.2)
        return staged.data, subscribed

    data, subscribed = play(Kind(fan_out=True, over_http=over_http), scene, FAULTS[name])
    assert data == [str(number) for number in range(30)]
    if name != "exception first":  # that one never gets far enough to count
        assert subscribed > 1
