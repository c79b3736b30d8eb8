"""Reports of runs that are not whole, and of folders that hold none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardlane_lab.report.write import render_json, render_markdown, render_text, write_report
from shardlane_lab.run_record import Run, write_run
from tests.unit.report.samples_by_hand import FAN_OUT, POLLER, STANDARD, record, sample


def stopped(folder: Path) -> Path:
    """No metrics, one consumer silent, one with a single sample, one with a few."""
    samples = [sample(0), *(sample(seq, label=FAN_OUT.label) for seq in range(4))]
    run_record = record(STANDARD, FAN_OUT, POLLER, complete=False, published_round="1")
    write_run(folder, Run(run_record, samples, []))
    return folder


def test_every_form_reports_what_is_there_and_says_what_is_not(tmp_path: Path) -> None:
    folder = stopped(tmp_path / "stopped")
    text = render_text([folder])
    assert "No samples of lambda-standard" in text
    assert "No metrics" in text
    assert "100.0c" in text
    document = json.loads(render_json([folder]))
    assert document["runs"][0]["minutes"] is None
    assert document["runs"][0]["consumers"][0]["latency"]["p50"]["value"] is None
    assert "| lambda-standard | – (525.0) |" in render_markdown([folder])
    out = tmp_path / "new" / "report.html"
    write_report([folder], out)
    page = out.read_text(encoding="utf-8")
    assert "No samples of lambda-standard" in page
    assert 'id="reads"' not in page


def test_a_run_without_any_sample_is_still_reported(tmp_path: Path) -> None:
    write_run(tmp_path, Run(record(complete=False, sent=0, first_put_ms=None), [], []))
    out = tmp_path / "report.html"
    write_report([tmp_path], out)
    assert "No consumer received a record." in out.read_text(encoding="utf-8")
    assert "No consumer received a record." in render_text([tmp_path])


def test_files_that_were_never_written_are_missing_and_no_error(tmp_path: Path) -> None:
    write_run(tmp_path, Run(record(complete=False), [sample(0)], []))
    (tmp_path / "samples.jsonl").unlink()
    (tmp_path / "metrics.jsonl").unlink()
    text = render_text([tmp_path])
    assert "No samples of boto3-get-records" in text
    assert "No metrics" in text


@pytest.mark.parametrize("render", [render_text, render_json, render_markdown])
def test_a_folder_without_a_run_is_named(render: object, tmp_path: Path) -> None:
    assert callable(render)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        render([tmp_path])


def test_no_folder_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one"):
        write_report([], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_published_round_that_does_not_exist_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, Run(record(published_round="7"), [sample(0)], []))
    with pytest.raises(ValueError, match="no published round '7'; there are 1, 2"):
        render_text([tmp_path])
