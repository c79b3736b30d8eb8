"""The committed reports of seeded runs and a poison comparison. To write them anew after a
wanted change:

.venv/bin/python -m tests.unit.report.golden_report
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from shardlane_lab.report.poison.figures import write_poison
from shardlane_lab.report.write import render_json, render_markdown, render_text
from shardlane_lab.run_record import write_run
from tests.unit.report.poison_by_hand import poison_by_hand
from tests.unit.report.seeded_run import seeded_run

GOLDEN = Path(__file__).parents[2] / "lab" / "golden_report"

RENDERERS: Mapping[str, Callable[[Sequence[Path]], str]] = {
    "report.txt": render_text,
    "report.md": render_markdown,
    "report.json": render_json,
}


def seeded_folders(parent: Path) -> list[Path]:
    """A poison comparison, both rounds, and a run with a consumer of the library."""
    folders = [parent / "round-1", parent / "round-2", parent / "library", parent / "poison"]
    write_run(folders[0], seeded_run(seconds=140, seed=1))
    write_run(folders[1], seeded_run(seconds=140, seed=2, pollers=3, published_round="2"))
    own = seeded_run(seconds=140, seed=3, published_round=None, library=True, title="The library")
    write_run(folders[2], own)
    write_poison(folders[3], poison_by_hand())
    return folders


def main() -> None:
    with tempfile.TemporaryDirectory() as parent:
        folders = seeded_folders(Path(parent))
        for name, render in RENDERERS.items():
            (GOLDEN / name).write_text(render(folders), encoding="utf-8")


if __name__ == "__main__":
    main()
