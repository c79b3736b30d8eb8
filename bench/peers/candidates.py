"""The readers that nobody here wrote: how each is built, and how it is started."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shardlane_lab.local_kinesis.http import FRAME_GAP_MS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
JAVASCRIPT = ROOT / "tests/contract/js"
BUILT_WITHIN_S = 900

POLLING = "polling"
FAN_OUT = "fan-out"


class Missing(Exception):
    """A tool, or an installed package, that the peer needs."""


@dataclass(frozen=True)
class Where:
    """What a peer is told."""

    kinesis: str
    dynamodb: str
    stream: str
    count: int
    application: str
    """Names its lease table and its registered consumer."""


@dataclass(frozen=True)
class Peer:
    name: str
    mode: str
    tools: tuple[str, ...]
    build: Callable[[], None]
    command: Callable[[Where, str], Sequence[str | Path]]
    frame_gap_ms: float = FRAME_GAP_MS
    """Between two frames that are pushed to it."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.mode}"

    def prepare(self) -> None:
        """Builds it. Raises ``Missing``, and ``RuntimeError`` if the build fails."""
        for tool in self.tools:
            if shutil.which(tool) is None:
                raise Missing(f"no `{tool}` on PATH")
        self.build()

    def started_as(self, where: Where) -> Sequence[str | Path]:
        return self.command(where, self.mode)


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=BUILT_WITHIN_S
    )
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed: {(done.stdout + done.stderr)[-2000:]}")


# --- the Kinesis Client Library ---------------------------------------------------------------

KCL = HERE / "kcl"
FIRST_READ = 100
"""Records per GetRecords call, so that it can be stopped in the middle of a shard."""


def build_kcl() -> None:
    _run(KCL, "mvn", "-q", "-B", "clean", "package")


def kcl(where: Where, mode: str, most_per_read: int | None = None) -> list[str | Path]:
    """``most_per_read``: records of a GetRecords call."""
    target = KCL / "target"
    more = [] if most_per_read is None else [str(most_per_read)]
    return [
        "java",
        "-Xmx512m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-cp",
        f"{target / 'kcl-peer.jar'}:{target / 'lib'}/*",
        "peer.KclPeer",
        *_told(where, mode),
        *more,
    ]


# --- harlow/kinesis-consumer ------------------------------------------------------------------

HARLOW = HERE / "harlow"


def build_harlow() -> None:
    _run(HARLOW, "go", "build", "-o", "bin/harlow", ".")


def harlow(where: Where, mode: str) -> list[str | Path]:
    return [HARLOW / "bin/harlow", *_told(where, mode)]


# --- lifion-kinesis ---------------------------------------------------------------------------


def find_lifion() -> None:
    if not (JAVASCRIPT / "node_modules/lifion-kinesis").is_dir():
        raise Missing("lifion-kinesis is not installed: run `make setup`")


def lifion(where: Where, mode: str) -> list[str | Path]:
    """It prints payloads, and its script reads the stream "orders"."""
    scripts: list[str | Path] = ["-r", JAVASCRIPT / "dns.cjs", JAVASCRIPT / "lifion.cjs"]
    told = [where.kinesis, where.dynamodb, str(where.count), mode, where.application]
    return ["node", *scripts, *told]


# --- ruststream-kinesis -----------------------------------------------------------------------

RUSTSTREAM = HERE / "ruststream"


def build_ruststream() -> None:
    _run(RUSTSTREAM, "cargo", "build", "--release", "--locked", "--quiet")


def ruststream(where: Where, mode: str) -> list[str | Path]:
    return [RUSTSTREAM / "target/release/ruststream-peer", *_told(where, mode)]


# --- this repository's ------------------------------------------------------------------------


def ours(where: Where, mode: str, *options: str) -> list[str | Path]:
    return [sys.executable, "-m", "bench.peers.ours", *_told(where, mode), *options]


def bare(where: Where, mode: str, *options: str) -> list[str | Path]:
    """boto3 and nothing else."""
    return [sys.executable, "-m", "bench.peers.bare", *_told(where, mode), *options]


CLIENTS = ROOT / ".venv/clients/bin/python"


def find_async_kinesis() -> None:
    if not CLIENTS.exists():
        raise Missing("async-kinesis is not installed: run `make setup`")


def async_kinesis(where: Where, mode: str) -> list[str | Path]:
    return [CLIENTS, "-m", "bench.peers.async_kinesis", *_told(where, mode)]


def _told(where: Where, mode: str) -> list[str]:
    place = [where.kinesis, where.dynamodb, where.stream]
    return [*place, str(where.count), mode, where.application]


KCL_POLLING = Peer("kcl", POLLING, ("java", "mvn"), build_kcl, kcl)
ASYNC_KINESIS = Peer("async-kinesis", POLLING, (), find_async_kinesis, async_kinesis)
PEERS = (
    KCL_POLLING,
    Peer("kcl", FAN_OUT, ("java", "mvn"), build_kcl, kcl),
    Peer("harlow", POLLING, ("go",), build_harlow, harlow),
    Peer("ruststream", POLLING, ("cargo",), build_ruststream, ruststream),
    Peer("lifion", POLLING, ("node",), find_lifion, lifion),
    # It loses frames that it reads together, which a busy machine makes of 5 ms.
    Peer("lifion", FAN_OUT, ("node",), find_lifion, lifion, frame_gap_ms=100.0),
)
