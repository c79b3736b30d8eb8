"""What ``shardlane consume`` refuses before it asks anyone, and what it shows."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from shardlane.cli.consume_view import Meter, farewell, line, short_id, show, table
from shardlane.cli.main import main
from shardlane.consumer.counters import Counters
from shardlane.consumer.ending import Ending, Undrained
from shardlane.consumer.settlement import Held
from shardlane.consumer.stats import ShardStats, Stats
from shardlane_lab.virtual_time import run_virtual

HANDLER = ("--handler", "os:getcwd")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--handler", "orders"), "--handler 'orders': allowed is MODULE:FUNCTION"),
        (("--handler", "os:nothing"), "os has no function nothing"),
        (("--handler", "nowhere.orders:handle"), "there is no module nowhere here"),
        ((*HANDLER, "--source", "efo"), "--source 'efo': allowed are polling and efo:NAME"),
        ((*HANDLER, "--leases", "redis"), "allowed are memory and dynamodb:TABLE"),
        ((*HANDLER, "--start", "yesterday"), "position 'yesterday': allowed are horizon"),
        ((*HANDLER, "--workers", "0"), "workers(0): allowed are 1 to"),
        ((*HANDLER, "--batch", "0"), "size=0: allowed are 1 to 10000"),
        ((*HANDLER, "--batch", "5", "--by-key"), "it is one batch at a time"),
        ((*HANDLER, "--attempts", "0"), "attempts=0: allowed is 1 or more"),
        ((*HANDLER, "--interval", "-1"), "interval_s=-1.0: allowed is 0 or more"),
        ((*HANDLER, "--drain", "-1"), "drain_s=-1.0: allowed is 0 or more"),
        ((*HANDLER, "--on-failure", "park"), "--on-failure park needs --parking-table"),
        ((*HANDLER, "--redrive"), "--redrive goes with --on-failure park only"),
        ((*HANDLER, "--parking-table", "t"), "--parking-table goes with --on-failure park only"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_is_allowed(
    arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "orders", *arguments, "--region", "eu-west-1", "--quiet"]) == 2
    assert problem in capsys.readouterr().err


def test_a_handler_whose_own_import_fails_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders_with_a_missing_import.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        main(["consume", "orders", "--handler", "orders_with_a_missing_import:handle"])


def shard(number: int, lag_ms: float = 0.0, key: str | None = None) -> ShardStats:
    return ShardStats(
        shard_id=f"shardId-{number:012}",
        lag_ms=lag_ms,
        behind_ms=0,
        oldest_sequence_number="42" if key else None,
        oldest_key=key,
        unsettled=7,
        running=2,
        waiting=5,
        checkpoint="TRIM_HORIZON",
        checkpoint_age_ms=0.0,
        renewed_ms=0.0,
    )


STATS = Stats(
    counters=Counters(handled=1_500, dropped=1, parked=2, throttles=4),
    shards=(shard(0), shard(3, 12_300.0, "alice")),
    channel_depth=9,
    keys_aside=0,
    held=(Held("s", "42", 1, 0.0, "boom"),),
)


def test_a_line_says_how_it_goes() -> None:
    meter = Meter(now_s=10.0)
    assert line("orders", meter.pulse(STATS, 12.0), keys=False) == (
        "orders: 752 records/s, 1,500 handled, lag 12.3 s, channel 9, 2 shards: 0 3, "
        "1 dropped, 2 parked, 4 throttles, 1 keys held up, latest 3 at 42"
    )
    assert line("orders", meter.pulse(STATS, 14.0), keys=True).startswith("orders: 0 records/s")
    assert "latest 3 at 42 (key 'alice')" in line("orders", meter.pulse(STATS, 15.0), keys=True)


def test_many_shards_are_counted() -> None:
    stats = Stats(Counters(), tuple(shard(number) for number in range(500)), 0, 0, ())
    assert "500 shards: 0 1 2" in line("orders", Meter(0).pulse(stats, 1), keys=False)
    assert "and 480 more" in line("orders", Meter(0).pulse(stats, 1), keys=False)
    assert table("orders", Meter(0).pulse(stats, 1), keys=False).row_count == 20


@pytest.mark.parametrize(
    ("shard_id", "shown"), [("shardId-000000000012", "12"), ("shardId-x", "shardId-x"), ("s", "s")]
)
def test_a_shards_short_name(shard_id: str, shown: str) -> None:
    assert short_id(shard_id) == shown


def shown_on_a_terminal(*, keys: bool) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=160)

    async def main() -> None:
        task = asyncio.create_task(show("orders", lambda: STATS, keys=keys, console=console))
        await asyncio.sleep(1.2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtual(main())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_on_a_terminal_it_is_a_table_with_the_latest_shard_first() -> None:
    text = shown_on_a_terminal(keys=False)
    assert text.index("shardId-000000000003") < text.index("shardId-000000000000")
    assert "12.3 s" in text
    assert "alice" not in text
    assert "alice" in shown_on_a_terminal(keys=True)


def test_elsewhere_it_is_a_line_every_five_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    beginning = [None, STATS, STATS]

    async def main() -> None:
        task = asyncio.create_task(show("orders", lambda: beginning.pop(0), keys=False))
        await asyncio.sleep(15.5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtual(main())
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("orders: 150 records/s, 1,500 handled")
    assert second.startswith("orders: 0 records/s")


def test_the_last_line_says_what_was_left() -> None:
    counters = Counters(handled=12)
    clean = farewell("orders", Ending(counters, ()))
    assert clean.endswith(
        "12 handled, 0 dropped, 0 parked; everything that had started was finished"
    )
    left = farewell("orders", Ending(counters, (Undrained("s1", 2), Undrained("s2", 1))))
    assert left.endswith("not drained: s1 (2 running), s2 (1 running): those records come again")
