"""The code blocks of the project's pages: each says how a test may run it.

A block's fence reads ```` ```sh run ````, ```` ```sh short ````, ```` ```sh aws ```` or names a
language that is only shown (``text``, ``json``, ``toml``, ``python`` …):

- ``run``: executed as it stands;
- ``short``: executed with its seconds replaced, since it measures for minutes or serves until it
  is stopped;
- ``aws``: needs an account; what it would deploy is synthesized instead;
- ``serve``: on a page that is one story, for a second terminal: it runs beside the blocks that
  follow it.

Whatever a block writes to ``out/`` goes to ``out/docs/`` instead: a test must not overwrite what
somebody measured for ten minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHORT_S = 4
TAGS = ("run", "short", "aws", "serve")
_FENCE = re.compile(r"^```(?P<language>\w*)(?: (?P<tag>\w+))?\n(?P<text>.*?)^```$", re.M | re.S)
_SERVED = """mkdir -p out/docs
{command} > out/docs/served.txt 2>&1 &
served=$!
trap 'kill $served; wait $served; cat out/docs/served.txt' EXIT
until grep -q Running out/docs/served.txt; do kill -0 $served; sleep 0.2; done
"""
_SHELL = ("sh", "bash", "shell", "console")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    tag: str | None
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELL


def blocks_of(page: Path, root: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(
            str(page.relative_to(root)), line, match["language"], match["tag"], match["text"]
        )


def pages(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def script(block: Block) -> str:
    """What to execute for a block. Raises ``ValueError`` for a ``short`` block in which there is
    nothing to shorten: it would run for minutes."""
    text = re.sub(r"\bout/", "out/docs/", block.text)
    if block.tag in ("run", "serve"):
        return text
    if block.tag == "aws":
        return _synth_only(text)
    shortened = _shortened(text)
    if shortened == text:
        raise ValueError(f"{block.name}: found no seconds to replace in a short block")
    return shortened


def told_as_one_story(blocks: list[Block]) -> bool:
    """Whether each block goes on where the one before it ended."""
    return any(block.tag == "serve" for block in blocks)


def story(blocks: list[Block]) -> str:
    """All blocks in one shell. What is served writes to ``out/docs/served.txt``, is waited for
    until it says that it runs, and is stopped at the end."""
    return "\n".join(
        _SERVED.format(command=script(block).strip()) if block.tag == "serve" else script(block)
        for block in blocks
    )


def _shortened(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if line.startswith("make demo"):
            line = f"make demo SECONDS={SHORT_S} OUT=out/docs/demo"
        elif re.search(r"shardlane-lab (run|demo)\b", line):
            line = re.sub(r" --seconds \S+", "", line) + f" --seconds {SHORT_S}"
        elif re.search(r"shardlane-lab (kinesis|up)\b", line):
            # It serves until it is stopped; a port that somebody uses here must not matter.
            free = re.sub(r"--port \d+", "--port 0", line)
            line = f".venv/bin/python -m tests.docs.until_it_serves {free}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _synth_only(text: str) -> str:
    """``cdk deploy …`` becomes ``cdk synth``; lines that do anything else on AWS are left out."""
    synth = []
    for line in text.splitlines():
        if match := re.match(r"(?P<command>npx \S+) deploy(?P<rest>.*)$", line):
            rest = re.sub(r" --require-approval \S+", "", match["rest"])
            synth.append(f"{match['command']} synth --quiet{rest}")
        elif re.match(r"(cd|source|export|\.) ", line):
            synth.append(line)
    return "\n".join(synth) + "\n"
