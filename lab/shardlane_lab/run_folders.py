"""Where runs are on disk: a folder each, and those of an experiment's variants below one folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from shardlane_lab.run_record import RECORD, SAMPLES, Run, write_run
from shardlane_lab.sample import Sample

_NUMBERS = re.compile(r"(\d+)")


def run_folders(given: Iterable[Path]) -> list[Path]:
    """Each folder that holds a run; one that holds none stands for the runs right below it, in
    the order of their names with numbers as numbers. A folder without any stays as it is."""
    found = []
    for folder in given:
        below = [] if (folder / RECORD).is_file() else _below(folder)
        found += below or [folder]
    return found


def _below(folder: Path) -> list[Path]:
    return sorted((each.parent for each in folder.glob(f"*/{RECORD}")), key=_by_number)


def _by_number(folder: Path) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in _NUMBERS.split(folder.name)
    ]


class Journal:
    """Keeps a run on disk while it goes on, so that nothing is lost however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = None

    def take(self, sample: Sample) -> None:
        if self._file is not None:
            self._file.write(sample.to_json() + "\n")

    def keep(self, play: Callable[[], object], result: Callable[[], Run]) -> Run:
        """Calls ``play``, and writes what ``result`` says then, whatever became of it: after a
        Ctrl-C (which goes on as ``KeyboardInterrupt``) all of it, after a kill the samples up to
        then."""
        write_run(self._folder, result())
        try:
            with (self._folder / SAMPLES).open("w", encoding="utf-8", buffering=1) as self._file:
                play()
        finally:
            self._file = None
            run = result()
            write_run(self._folder, run)
        return run
