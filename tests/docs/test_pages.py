"""What the pages tell a reader to type works as written, and what they point to is there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import TAGS, Block, blocks_of, pages, script, story, told_as_one_story

ROOT = Path(__file__).parents[2]
BLOCKS = [block for page in pages(ROOT) for block in blocks_of(page, ROOT)]
SHELL = [block for block in BLOCKS if block.is_shell]
STORIES = {
    page: told
    for page in {block.page for block in SHELL}
    if told_as_one_story(told := [block for block in SHELL if block.page == page])
}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)#\s]+)")


@pytest.mark.parametrize("block", SHELL, ids=lambda block: block.name)
def test_every_shell_block_says_how_it_may_be_run(block: Block) -> None:
    assert block.tag in TAGS, f"{block.name}: tag it {' or '.join(TAGS)}"


def works(commands: str, name: str) -> str:
    """Runs them as they stand, and returns what they printed."""
    environment = os.environ | {"NO_COLOR": "1", "npm_config_yes": "true"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{name}\n{commands}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow("it runs what the pages tell a reader to run, whole measurements among it")
@pytest.mark.parametrize(
    "block", [each for each in SHELL if each.page not in STORIES], ids=lambda block: block.name
)
def test_shell_block_works_as_written(block: Block) -> None:
    works(script(block), block.name)


@pytest.mark.slow("it plays the tutorial: two synthesized apps, a local stack and a dashboard")
def test_the_tutorial_works_from_top_to_bottom() -> None:
    told = works(story(STORIES["docs/tutorial.md"]), "docs/tutorial.md")
    order = [line.split()[2] for line in told.splitlines() if line.startswith("billing  billed")]
    assert order[:3] == ["1:", "3:", "5:"], told
    assert order[3:] == ["2:", "4:"], "Bob's, in their order, once the handler was mended"
    for said in ("waits  TypeError", "it is quarantined", '"free"', "lifted, 2 handled"):
        assert said in told
    assert not (ROOT / "out/docs/tutorial/env").exists(), "it would lead to a stack that is gone"


@pytest.mark.parametrize(
    "block", [each for each in BLOCKS if each.language == "python"], ids=lambda block: block.name
)
def test_python_block_compiles(block: Block) -> None:
    compile(block.text, block.name, "exec")


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        assert (page.parent / match["target"]).exists(), f"{page.name} → {match['target']}"
