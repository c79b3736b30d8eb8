"""``shardlane-lab`` end to end: short runs in processes of their own, stopped in every way."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest

from shardlane_lab.run_record import read_run
from shardlane_lab.sample import read_samples
from tests.lab.lab_command import descendants, lab, running, started


def until(holds: Callable[[], bool], what: str, within_s: float = 60) -> None:
    """Polls a state of another process; fails with ``what`` if it does not come."""
    give_up_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < give_up_s, f"not within {within_s} s: {what}"
        time.sleep(0.05)


def test_a_short_round_reaches_every_consumer_once(assembly: Path, tmp_path: Path) -> None:
    done = lab("run", "round-2", "--seconds", "3", "--assembly", assembly, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path)
    assert run.record.complete
    assert run.record.sent == 15
    labels = [consumer.label for consumer in run.record.consumers]
    assert labels == [
        "lambda-standard",
        "lambda-efo",
        "boto3-efo",
        "boto3-get-records-1",
        "boto3-get-records-2",
        "boto3-get-records-3",
    ]
    for label in labels:
        seen = [sample for sample in run.samples if sample.label == label]
        assert sorted(sample.seq for sample in seen) == list(range(15)), label
        assert all(sample.arrival_to_receive_ms > 0 for sample in seen), label
    assert {row.name for row in run.statistics} >= {"GetRecords.Success", "IteratorAge"}
    assert "boto3-get-records-3" in done.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert json.loads(lab("report", tmp_path, "--json").stdout)


@pytest.fixture
def long_run(assembly: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """A run under way, with every process below it, once all consumers have received."""
    process = started(
        "run", "round-1", "--seconds", "300", "--assembly", assembly, "--out", tmp_path
    )
    try:
        until(lambda: len(labels_in(tmp_path / "samples.jsonl")) == 4, "samples of all four")
        yield process, descendants(process.pid)
    finally:
        process.kill()
        process.communicate()


def labels_in(samples: Path) -> set[str]:
    return {sample.label for sample in read_samples(samples)} if samples.exists() else set()


def test_ctrl_c_keeps_what_came_and_leaves_no_process(
    long_run: tuple[subprocess.Popen[str], set[int]], tmp_path: Path
) -> None:
    process, below = long_run
    assert len(below) >= 5  # two sandboxes, two consumers, the producer
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130, error
    assert "stopped" in error
    assert running(below) == set()
    run = read_run(tmp_path)
    assert not run.record.complete
    assert run.record.sent > 0
    assert run.statistics
    assert lab("report", tmp_path).returncode == 0


def test_a_killed_run_leaves_samples_and_no_process(
    long_run: tuple[subprocess.Popen[str], set[int]], tmp_path: Path
) -> None:
    process, below = long_run
    process.kill()
    process.communicate(timeout=20)
    until(lambda: running(below) == set(), "the end of every process below it", 10)
    run = read_run(tmp_path)
    assert not run.record.complete
    assert {sample.label for sample in run.samples} == {each.label for each in run.record.consumers}
    assert lab("report", tmp_path).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_local_kinesis_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    process = started("kinesis", "--port", "0")
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        endpoint = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert endpoint, line
        client = boto3.client(
            "kinesis",
            endpoint_url=endpoint[0],
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        client.create_stream(StreamName="s", ShardCount=2)
        assert client.list_streams()["StreamNames"] == ["s"]
        client.close()
        process.send_signal(number)
        _, error = process.communicate(timeout=10)
        assert (process.returncode, error) == (0, "")
    finally:
        process.kill()
        process.communicate()
