"""``make soak``: everything that gets better the longer it runs, one after the other.

Each is a command that takes an amount (seconds, examples, seeds) and a seed, and exits with a
status other than 0 if it found something. A failure is printed with the command that repeats it.
Another soak is one more entry in ``SOAKS``.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]


@dataclass(frozen=True)
class Run:
    """Arguments of this interpreter, and what is added to the environment."""

    arguments: list[str]
    environment: dict[str, str]

    def __str__(self) -> str:
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        return shlex.join([*variables, "python", *self.arguments])


@dataclass(frozen=True)
class Soak:
    name: str
    amount: int
    """What a full run takes, in ``unit``."""
    unit: str
    run: Callable[[int, int], Run]
    """Of an amount and a seed."""


def garbage(seconds: int, seed: int) -> Run:
    test = "tests/contract/test_kinesis_garbage.py"
    return Run([*PYTEST, test], {"FUZZ_SECONDS": str(seconds), "FUZZ_SEED": str(seed)})


def properties(examples: int, seed: int) -> Run:
    """Whatever test file draws examples."""
    files = sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "from hypothesis import" in path.read_text(encoding="utf-8")
    )
    profile = {"HYPOTHESIS_PROFILE": "soak", "HYPOTHESIS_EXAMPLES": str(examples)}
    return Run([*PYTEST, "-n", "auto", f"--hypothesis-seed={seed}", *files], profile)


def histories(seeds: int, first: int) -> Run:
    return Run(["-m", "tests.sim.soak", "--first", str(first), "--seeds", str(seeds)], {})


def batches(seeds: int, first: int) -> Run:
    """Histories of keyed batches, and a redrive under fire for every fourth of them."""
    counts = ["--seeds", str(seeds), "--redrives", str(-(-seeds // 4)), "--first", str(first)]
    return Run(["-m", "tests.histories.soak", *counts], {})


SOAKS = [
    Soak("garbage", 600, "seconds", garbage),
    Soak("properties", 2_000, "examples each", properties),
    Soak("histories", 20_000, "seeds", histories),
    Soak("batches", 2_000, "seeds", batches),
]


def passed(soak: Soak, share: float, seed: int) -> bool:
    amount = max(1, round(soak.amount * share))
    run = soak.run(amount, seed)
    print(f"== {soak.name}: {amount} {soak.unit}, seed {seed}", flush=True)
    started_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, *run.arguments], cwd=ROOT, env=os.environ | run.environment, check=False
    )
    took_s = time.monotonic() - started_s
    if done.returncode == 0:
        print(f"== {soak.name}: passed in {took_s:.0f} s", flush=True)
        return True
    print(
        f"== {soak.name}: FAILED after {took_s:.0f} s with seed {seed}; again:\n   {run}",
        flush=True,
    )
    return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/soak.py", description=__doc__)
    names = [soak.name for soak in SOAKS]
    parser.add_argument(
        "--only", action="append", choices=names, help="run only this one; may be repeated"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the full amounts, e.g. 0.01 (default: 1)"
    )
    parser.add_argument("--seed", type=int, help="default: a new one")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    chosen = [soak for soak in SOAKS if given.only is None or soak.name in given.only]
    failed = [soak.name for soak in chosen if not passed(soak, given.share, seed)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
