"""The commands from outside: what they need, what they refuse, and that they ask."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest

from shardlane.cli.account import agreed
from shardlane.cli.main import COMMANDS, main, parser
from shardlane.operations.errors import OperationError

WITHOUT_BOTO3 = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("boto3", "botocore", "yaml"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])

sys.meta_path.insert(0, Blocked())
from shardlane.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
HERMETIC = {
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--help"], 0, "stuck"),
        (["stuck"], 2, "boto3 is not installed: pip install 'shardlane[cli]'"),
        (["lint", "template.yaml"], 2, "cannot be read"),
    ],
    ids=["help", "an account", "a file"],
)
def test_what_works_without_the_extra(arguments: list[str], status: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_BOTO3, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_command_is_there_once_with_a_help() -> None:
    names = [each.__name__.rpartition(".")[2] for each in COMMANDS]  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    written = parser().format_help()
    for name in ("stuck", "peek", "parked", "why", "redrive", "lint"):
        assert f"    {name} " in written


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "no region: set AWS_REGION or give --region"),
        ({"AWS_REGION": "eu-west-1"}, "no credentials found: sign in, set AWS_PROFILE"),
        ({"AWS_REGION": "eu-west-1", "AWS_PROFILE": "nope"}, "profile (nope) could not be found"),
    ],
    ids=["no region", "no credentials", "no profile"],
)
def test_what_is_missing_for_an_account_is_one_line(
    environment: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (HERMETIC | environment).items():
        monkeypatch.setenv(name, value)
    assert main(["stuck"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["redrive"], "one of the arguments --key --key-hash --all --from-s3 --from-sqs"),
        (["redrive", "--all", "--key", "k"], "not allowed with argument"),
        (["why"], "one of the arguments --key --key-hash is required"),
        (["stuck", "--minutes", "4"], "allowed: 5 to 1440"),
        (["peek", "--sequence", "12x"], "is no sequence number: digits only"),
        (["peek", "--sequence", "1", "--count", "0"], "allowed: 1 to 10000"),
        (["lint", "t", "--record-bytes", "0"], "allowed: 1 to 10485760"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments_are_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["redrive", "--all", "--skip-first", "--reason", "x"], "goes with one key"),
        (["redrive", "--key", "k", "--skip-first"], "--skip-first and --reason go together"),
        (["redrive", "--key", "k", "--reason", "x"], "--skip-first and --reason go together"),
        (["peek", "--stream", "s", "--region", "eu-west-1"], "needs --stream and --sequence"),
        (["parked", "--region", "eu-west-1"], "give --table and --consumer, or the --function"),
        (["peek", "--message", "/none", "--region", "eu-west-1"], "/none cannot be read"),
        (["redrive", "--from-s3", "x", "--region", "eu-west-1"], "is not s3://BUCKET"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_go_together_is_one_line(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in HERMETIC.items():
        monkeypatch.setenv(name, value)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "agrees"),
    [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("", False)],
    ids=repr,
)
def test_a_person_is_asked_and_only_yes_is_yes(
    answer: str, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin: Any = Terminal(answer)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert agreed("Delete 3 objects?", yes=False) is agrees
    asked = capsys.readouterr()
    assert (asked.out, asked.err) == ("", "Delete 3 objects? [y/N] ")


def test_without_a_terminal_nothing_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(OperationError, match="Nobody is there to ask: give --yes"):
        agreed("Delete 3 objects?", yes=False)
    assert agreed("Delete 3 objects?", yes=True)
