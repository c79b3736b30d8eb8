"""Both command lines end alike: a sentence for a person, a status for a script."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shardlane.cli.exit_status import exit_status

UNREAD = """
import sys
from shardlane.cli.exit_status import exit_status
sys.exit(exit_status("tool", lambda: print("x" * 100_000, flush=True) or 0, LookupError))
"""


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (LookupError("no such stream"), 2, "tool: no such stream\n"),
        (IndexError("of the same tree"), 2, "tool: of the same tree\n"),
        (KeyboardInterrupt(), 130, "tool: stopped\n"),
    ],
    ids=["problem", "kind of it", "ctrl-c"],
)
def test_what_ends_a_command(
    raised: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute() -> int:
        raise raised

    assert exit_status("tool", execute, LookupError) == status
    assert capsys.readouterr().err == said


def test_a_command_says_its_own_status() -> None:
    assert exit_status("tool", lambda: 7, LookupError) == 7


def test_what_nobody_planned_keeps_its_trace() -> None:
    def execute() -> int:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        exit_status("tool", execute, LookupError)


def test_a_reader_that_has_enough_gets_no_trace() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", UNREAD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(20) == 1
    process.stderr.close()
