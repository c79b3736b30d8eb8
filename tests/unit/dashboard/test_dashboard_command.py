"""``shardlane-lab dashboard`` as a person types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlane_lab.cli.main import main
from shardlane_lab.run_record import write_run
from tests.unit.report.seeded_run import seeded_run


def test_the_dashboard_of_a_run_is_written_beside_it(
    assembly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, seeded_run(seconds=10))
    assert main(["dashboard", str(tmp_path), "--assembly", str(assembly)]) == 0
    page = tmp_path / "dashboard.html"
    assert capsys.readouterr().out == f"dashboard: {page}\n"
    assert "drawn with the run" in page.read_text(encoding="utf-8")


def test_the_page_is_opened_in_the_browser(
    assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, seeded_run(seconds=10))
    opened: list[str] = []

    def opens(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", opens)
    out = tmp_path / "deep" / "page.html"
    arguments = ["--assembly", str(assembly), "--out", str(out), "--open"]
    assert main(["dashboard", str(tmp_path), *arguments]) == 0
    assert opened == [out.as_uri()]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere holds no run: run.json is missing"),
        (["--up"], "where is the local stack?"),
        (["--up", "https://monitoring.us-east-1.amazonaws.com"], "is not on this machine"),
        (["--up", "http://[::1"], "is not on this machine"),
        (["nowhere", "--every", "5"], "--every draws a running stack again"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_CLOUDWATCH"):
        monkeypatch.delenv(name, raising=False)
    assert main(["dashboard", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_another_dashboard_than_there_is(
    assembly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, seeded_run(seconds=5))
    arguments = ["--assembly", str(assembly), "--name", "other"]
    assert main(["dashboard", str(tmp_path), *arguments]) == 2
    assert "no dashboard 'other': the app deploys shardlane-dev" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--every", "0"], ["--minutes", "0"], ["--minutes", "x"]])
def test_numbers_out_of_range_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dashboard", "--up", *arguments])
