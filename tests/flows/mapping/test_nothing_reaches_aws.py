"""The commands that run functions and clients stay on this machine, whatever the user's
environment says. Every Python process of theirs that inherits it reports whom it speaks to; the
sandboxes, which inherit nothing, are looked at in ``test_local_stack``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlane_lab.local_aws.services import local_client
from tests.lab.lab_command import ROOT, lab, started

EVENT = ROOT / "tests" / "events" / "efo.json"
HERE = "127.0.0.1"
REPORTER = """
import os, sys

def report(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    log = os.open(os.environ["REACHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{os.getpid()} {host}\\n".encode())
    os.close(log)

sys.addaudithook(report)
"""
OF_THE_USER = {
    "AWS_ACCESS_KEY_ID": "AKIAOFTHEUSER0000000",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-user",
    "AWS_SESSION_TOKEN": "token-of-the-user",
    "AWS_PROFILE": "production",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ENDPOINT_URL": "https://everything.example",
    "AWS_ENDPOINT_URL_KINESIS": "https://kinesis.example",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.2/credentials",
    "HTTP_PROXY": "http://proxy.example:3128",
    "HTTPS_PROXY": "http://proxy.example:3128",
}
PROFILE = """
[profile production]
region = eu-west-1
endpoint_url = https://profile.example
credential_process = /bin/false
"""

Reached = Callable[[], tuple[set[str], int]]
"""The hosts that were spoken to or asked for, and by how many processes."""


@pytest.fixture
def reached(assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reached:
    """Puts a user's credentials, profile, endpoints and proxy into the environment."""
    (tmp_path / "sitecustomize.py").write_text(REPORTER, encoding="utf-8")
    (tmp_path / "config").write_text(PROFILE, encoding="utf-8")
    log = tmp_path / "reached"
    given = OF_THE_USER | {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "PYTHONPATH": str(tmp_path),
        "REACHED": str(log),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    def read() -> tuple[set[str], int]:
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        pairs = [line.split() for line in lines]
        return {host for _, host in pairs}, len({process for process, _ in pairs})

    return read


def check_secrets(printed: str) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        assert OF_THE_USER[name] not in printed


def test_the_reporter_sees_whom_a_client_speaks_to(reached: Reached) -> None:
    """Otherwise the tests below would show nothing."""

    code = "import socket; socket.socket().connect_ex(('127.0.0.1', 9)); "
    code += "socket.getaddrinfo('localhost', 9)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    assert reached() == ({HERE, "localhost"}, 1)


def test_invoke_stays_here(reached: Reached, assembly: Path) -> None:
    done = lab("invoke", "order-latency-efo", EVENT, "--assembly", assembly)
    assert done.returncode == 0, done.stderr
    hosts, _ = reached()
    assert hosts <= {HERE}
    check_secrets(done.stdout + done.stderr)


@pytest.mark.slow("a run starts a process for each client and draws its report")
def test_run_stays_here(reached: Reached, assembly: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = lab("run", "round-1", "--seconds", "2", "--assembly", assembly, "--out", out)
    assert done.returncode == 0, done.stderr
    hosts, processes = reached()
    assert hosts == {HERE}
    assert processes >= 3  # the producer and both boto3 consumers at least
    check_secrets(done.stdout + done.stderr)


def test_up_stays_here(reached: Reached, assembly: Path) -> None:
    process = started("up", "--assembly", assembly, "--json")
    assert process.stdout is not None
    try:
        variables = json.loads(process.stdout.readline())
        endpoint = variables["AWS_ENDPOINT_URL_KINESIS"]
        kinesis = local_client("kinesis", endpoint, variables["AWS_REGION"])
        (stream,) = kinesis.list_streams()["StreamNames"]
        kinesis.put_record(StreamName=stream, Data=b'{"seq": 1}', PartitionKey="k")
        kinesis.close()
        assert process.stderr is not None
        logged = ""
        while "REPORT RequestId" not in logged:
            line = process.stderr.readline()
            assert line, "it ended before the function had the record"
            logged += line
    finally:
        process.terminate()
        rest, error = process.communicate(timeout=30)
    assert process.returncode == 0, error
    hosts, _ = reached()
    assert hosts == {HERE}
    check_secrets(json.dumps(variables) + rest + logged + error)
