"""The clock that jumps: order, time-outs, deadlock."""

import asyncio

import pytest

from shardlane_lab.virtual_time import EPOCH_MS, Deadlock, run_virtual, wall_ms


def test_time_moves_only_by_waiting_and_in_order() -> None:
    seen: list[tuple[float, str]] = []

    async def after(delay_s: float, name: str) -> None:
        await asyncio.sleep(delay_s)
        seen.append((asyncio.get_running_loop().time(), name))

    async def main() -> float:
        await asyncio.gather(after(3600, "c"), after(0.000_001, "a"), after(0.000_002, "b"))
        return wall_ms()

    assert run_virtual(main()) == pytest.approx(EPOCH_MS + 3_600_000)
    assert [name for _, name in seen] == ["a", "b", "c"]
    assert [time_s for time_s, _ in seen] == pytest.approx([1e-6, 2e-6, 3600])


def test_a_timeout_fires_when_nothing_else_happens() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(300):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == pytest.approx(300)


def test_waiting_for_what_never_comes_is_an_error_not_a_hang() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="every task waits"):
        run_virtual(main())


def test_two_runs_do_the_same() -> None:
    async def main() -> list[float]:
        times: list[float] = []

        async def tick(every_s: float) -> None:
            for _ in range(50):
                await asyncio.sleep(every_s)
                times.append(asyncio.get_running_loop().time())

        await asyncio.gather(tick(0.2), tick(0.3), tick(0.7))
        return times

    assert run_virtual(main()) == run_virtual(main())
