"""What the pages tell a reader to type works as written, and what they point to is there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import TAGS, Block, blocks_of, pages, script

ROOT = Path(__file__).parents[2]
BLOCKS = [block for page in pages(ROOT) for block in blocks_of(page, ROOT)]
SHELL = [block for block in BLOCKS if block.is_shell]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)#\s]+)")


@pytest.mark.parametrize("block", SHELL, ids=lambda block: block.name)
def test_every_shell_block_says_how_it_may_be_run(block: Block) -> None:
    assert block.tag in TAGS, f"{block.name}: tag it {' or '.join(TAGS)}"


@pytest.mark.slow("it runs what the pages tell a reader to run, whole measurements among it")
@pytest.mark.parametrize("block", SHELL, ids=lambda block: block.name)
def test_shell_block_works_as_written(block: Block) -> None:
    environment = os.environ | {"NO_COLOR": "1", "npm_config_yes": "true"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(block)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{block.name}\n{script(block)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "block", [each for each in BLOCKS if each.language == "python"], ids=lambda block: block.name
)
def test_python_block_compiles(block: Block) -> None:
    compile(block.text, block.name, "exec")


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        assert (page.parent / match["target"]).exists(), f"{page.name} → {match['target']}"
