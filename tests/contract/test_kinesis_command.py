"""``shardlane-lab kinesis`` as a person starts it: its files, its certificate, its errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from shardlane_lab.cli.main import main
from tests.lab.lab_command import started


@contextmanager
def served(*options: str | Path) -> Iterator[dict[str, str]]:
    """The command on a free port; yields the variables that it tells the reader to export."""
    process = started("kinesis", "--port", "0", *options)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        line = process.stdout.readline()
        assert line.startswith("  export "), line + process.communicate(timeout=10)[1]
        yield dict(word.split("=", 1) for word in shlex.split(line)[1:])
    finally:
        process.terminate()
        process.communicate(timeout=10)


@contextmanager
def client(variables: dict[str, str]) -> Iterator[Any]:
    made = boto3.client(
        "kinesis",
        endpoint_url=variables["AWS_ENDPOINT_URL_KINESIS"],
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        verify=variables.get("AWS_CA_BUNDLE"),
        config=Config(retries={"total_max_attempts": 1}),
    )
    try:
        yield made
    finally:
        made.close()


def test_faults_and_settings_come_from_files(tmp_path: Path) -> None:
    faults, settings = tmp_path / "faults.toml", tmp_path / "settings.toml"
    faults.write_text('[[fault]]\nkind = "internal-error"\noperation = "ListStreams"\ntimes = 1\n')
    settings.write_text("[limits]\nshards_per_account = 3\n")
    with (
        served("--faults", faults, "--settings", settings) as variables,
        client(variables) as kinesis,
    ):
        with pytest.raises(ClientError) as failed:
            kinesis.list_streams()
        assert failed.value.response["Error"]["Code"] == "InternalFailureException"
        assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
        assert kinesis.list_streams()["StreamNames"] == []
        with pytest.raises(ClientError, match=r"LimitExceeded.*Limit: 3"):
            kinesis.create_stream(StreamName="orders", ShardCount=4)
        kinesis.create_stream(StreamName="orders", ShardCount=3)


def test_tls_serves_the_certificate_that_it_writes(tmp_path: Path) -> None:
    certificate = tmp_path / "a folder" / "kinesis.pem"
    with served("--tls", certificate) as variables, client(variables) as kinesis:
        assert variables["AWS_ENDPOINT_URL_KINESIS"].startswith("https://127.0.0.1:")
        assert variables["AWS_CA_BUNDLE"] == variables["NODE_EXTRA_CA_CERTS"] == str(certificate)
        assert "PRIVATE KEY" not in certificate.read_text()
        assert kinesis.list_streams()["StreamNames"] == []


@pytest.mark.parametrize(
    ("option", "content", "words"),
    [
        ("--faults", None, "cannot read the faults {path}: No such file or directory"),
        ("--settings", None, "cannot read the settings {path}: No such file or directory"),
        ("--faults", "kind = ", "{path} is not TOML"),
        (
            "--faults",
            '[[fault]]\nkind = "throttle"\n[[fault]]\nkind = "boom"\n',
            "{path}: fault 2: kind 'boom' is none of throttle, internal-error, latency, ",
        ),
        (
            "--faults",
            '[[fault]]\nkind = "throttle"\nprobability = 7\n',
            "{path}: fault 1: probability must be between 0 and 1: 7",
        ),
        (
            "--settings",
            "[limits]\nget_records_per_s = -5\n",
            "{path}: limits: get_records_per_s must be above 0, or 'off' for no limit: -5",
        ),
        (
            "--settings",
            '[delays]\nbase = "slow"\n',
            "{path}: delays.base 'slow' is none of none, measured",
        ),
    ],
)
def test_a_wrong_file_names_field_value_and_what_is_allowed(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    option: str,
    content: str | None,
    words: str,
) -> None:
    path = tmp_path / "said.toml"
    if content is not None:
        path.write_text(content)
    assert main(["kinesis", "--port", "0", option, str(path)]) == 2
    assert words.format(path=path) in capsys.readouterr().err


def test_a_certificate_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "kinesis.pem"
    assert main(["kinesis", "--port", "0", "--tls", str(path)]) == 2
    assert f"cannot write the certificate {path}: " in capsys.readouterr().err


def test_delays_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["kinesis", "--delays", "measured", "--settings", "x.toml"])
    assert ended.value.code == 2
    assert "--settings: not allowed with argument --delays" in capsys.readouterr().err


def test_help_names_every_option_with_an_example_of_each_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["kinesis", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert set(re.findall(r"--[a-z]+", said)) == {
        "--help",
        "--port",
        "--delays",
        "--settings",
        "--faults",
        "--seed",
        "--tls",
    }
    assert "[[fault]]" in said
    assert "[limits]" in said
