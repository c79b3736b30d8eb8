"""What a person gets to read who asked for something that is not there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from shardlane_lab.cli.main import main

EVENTS = Path(__file__).parents[1] / "events"


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    status = main([str(argument) for argument in arguments])
    return status, capsys.readouterr().err


def test_an_unknown_experiment_lists_those_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    status, error = said(capsys, "run", "round-9", "--out", "unused")
    assert status == 2
    assert "no experiment 'round-9': neither a file nor one of" in error
    assert "round-1, round-2" in error


def test_an_unknown_function_lists_those_of_the_template(
    capsys: pytest.CaptureFixture[str], assembly: Path
) -> None:
    event = EVENTS / "efo.json"
    status, error = said(capsys, "invoke", "order-latency", event, "--assembly", assembly)
    assert status == 2
    assert "no function named 'order-latency'" in error
    assert "order-latency-efo, order-latency-standard" in error


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "cannot read the event"),
        ("{", "is not JSON"),
        ("[]", "must be a JSON object"),
        ("\ud800", "is not JSON"),
    ],
)
def test_an_event_file_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, expected: str
) -> None:
    event = tmp_path / "event.json"
    if content is not None:
        event.write_bytes(content.encode("utf-8", "surrogatepass"))
    status, error = said(capsys, "invoke", "order-latency-efo", event)
    assert status == 2
    assert f"{event}" in error
    assert expected in error


def test_a_busy_port_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, error = said(capsys, "kinesis", "--port", str(port))
    assert status == 2
    assert f"Port {port} of 127.0.0.1 is in use" in error


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon", "1e9"])
def test_seconds_out_of_range_are_refused(capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["run", "round-1", "--seconds", seconds, "--out", "unused"])
    assert raised.value.code == 2
    assert seconds in capsys.readouterr().err


def test_a_folder_without_an_app_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, error = said(capsys, "run", "round-1", "--out", tmp_path, "--app", tmp_path)
    assert status == 2
    assert f"{tmp_path} holds no cdk.json" in error


def test_an_app_that_fails_is_quoted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text('{"app": "python3 app.py"}', encoding="utf-8")
    (tmp_path / "app.py").write_text("raise SystemExit('no such stage: moon')", encoding="utf-8")
    status, error = said(capsys, "run", "round-1", "--out", tmp_path, "--app", tmp_path)
    assert status == 2
    assert "`python3 app.py` failed:\nno such stage: moon" in error


def test_context_reaches_the_app(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text(
        '{"app": "python3 app.py", "context": {"stage": "dev", "owner": "us"}}', encoding="utf-8"
    )
    (tmp_path / "app.py").write_text(
        "import os\nraise SystemExit(os.environ['CDK_CONTEXT_JSON'])", encoding="utf-8"
    )
    status, error = said(
        capsys, "up", "--app", tmp_path, "-c", "stage=prod", "-c", "filter=a=b", "--watch"
    )
    assert status == 2
    assert '{"stage": "prod", "owner": "us", "filter": "a=b"' in error
    assert '"aws:cdk:disable-asset-staging": true' in error


@pytest.mark.parametrize("text", ["stage", "=prod"])
def test_context_that_is_no_pair_is_refused(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["up", "-c", text])
    assert raised.value.code == 2
    assert f"{text!r} is not KEY=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--watch",), ("-c", "stage=prod")])
def test_what_needs_the_app_does_not_go_with_an_assembly(
    capsys: pytest.CaptureFixture[str], assembly: Path, option: tuple[str, ...]
) -> None:
    status, error = said(capsys, "up", "--assembly", assembly, *option)
    assert status == 2
    assert "goes with --app, not" in error


def test_a_missing_node_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cdk.json").write_text('{"app": "python3 app.py"}', encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    status, error = said(capsys, "run", "round-1", "--out", tmp_path, "--app", tmp_path)
    assert status == 2
    assert "needs Node.js 20 or newer" in error


def test_a_report_of_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, error = said(capsys, "report", tmp_path)
    assert status == 2
    assert f"{tmp_path} holds no run" in error


def test_a_folder_that_cannot_be_made_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    status, error = said(
        capsys, "run", "round-1", "--target", "simulated", "--model", "fast", "--out", out
    )
    assert status == 2
    assert error.startswith(f"shardlane-lab: {out}: ")
