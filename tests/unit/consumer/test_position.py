"""Positions and checkpoints: numbers as integers, times kept, errors that name what is allowed."""

from __future__ import annotations

import pytest

from shardlane.consumer.checkpoint import ENDED, HORIZON, Checkpoint
from shardlane.consumer.position import Position
from shardlane.errors import SettingsError


def test_checkpoints_compare_as_integers_and_then_by_place_in_the_aggregate() -> None:
    order = [
        HORIZON,
        Checkpoint("LATEST"),
        Checkpoint("9", -1),
        Checkpoint("9"),
        Checkpoint("9", 2),
        Checkpoint("10"),
        Checkpoint("4" * 56),
        ENDED,
    ]
    assert (
        sorted([order[each] for each in (5, 2, 7, 0, 4, 1, 6, 3)], key=lambda each: each.order)
        == order
    )


@pytest.mark.parametrize("value", ["", "12a", "-1", "latest", "١٢"])
def test_a_checkpoint_that_is_neither_number_nor_word_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="decimal digits"):
        Checkpoint(value)


@pytest.mark.parametrize(
    ("position", "checkpoint"),
    [
        (Position.horizon(), HORIZON),
        (Position.latest(), Checkpoint("LATEST")),
        (Position.timestamp(5), Checkpoint("AT_TIMESTAMP")),
        (Position.sequence("s-1", "77"), Checkpoint("77", -1)),
        (Position.sequence("s-2", "77"), HORIZON),
    ],
)
def test_a_new_lease_says_where_its_shard_starts(
    position: Position, checkpoint: Checkpoint
) -> None:
    assert position.checkpoint_for("s-1") == checkpoint


def test_latest_is_kept_at_the_services_time() -> None:
    assert Position.latest().start_ms(1_700_000_000_999.5) == 1_700_000_000_999
    assert Position.timestamp(7).start_ms(99.0) == 7
    assert Position.horizon().start_ms(99.0) is None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("horizon", Position.horizon()),
        ("latest", Position.latest()),
        ("timestamp:1700000000000", Position.timestamp(1_700_000_000_000)),
        ("timestamp:2023-11-14T22:13:20+00:00", Position.timestamp(1_700_000_000_000)),
        ("sequence:shardId-000000000001:42", Position.sequence("shardId-000000000001", "42")),
    ],
)
def test_what_a_command_line_may_say(text: str, position: Position) -> None:
    assert Position.parse(text) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "newest",
        "timestamp:",
        "timestamp:yesterday",
        "timestamp:2023-11-14T22:13:20",
        "sequence:1",
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(SettingsError, match=r"allowed|needs an offset"):
        Position.parse(text)


@pytest.mark.parametrize("number", ["", "x", "-3"])
def test_a_sequence_number_must_be_digits(number: str) -> None:
    with pytest.raises(SettingsError, match="decimal digits"):
        Position.sequence("shard", number)
