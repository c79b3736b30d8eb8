"""Runs tests with one line of one module changed, each time in a fresh process.

The processes are forked from one that has the heavy modules loaded and none of the mapping's.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = "shardlane_lab.local_lambda"


@dataclass(frozen=True)
class Change:
    module: str
    old: str
    new: str


class _MutatingLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, change: Change) -> None:
        super().__init__(name, path)
        self._change = change

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        if source.count(self._change.old) != 1:
            raise ImportError(f"{fullname} must have this once: {self._change.old}")
        mutated = source.replace(self._change.old, self._change.new)
        return compile(mutated, self.path, "exec")


class _Mutator(importlib.abc.MetaPathFinder):
    def __init__(self, change: Change) -> None:
        self._change = change

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != f"{PACKAGE}.{self._change.module}":
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        if found is None or found.origin is None:
            return None
        loader = _MutatingLoader(fullname, found.origin, self._change)
        return importlib.util.spec_from_loader(fullname, loader, origin=found.origin)


def run_tests(change: Change | None, arguments: Sequence[str]) -> tuple[int, str]:
    """pytest's exit status and what it printed, with ``change`` made."""
    import pytest

    loaded = sorted(name for name in sys.modules if name.startswith(f"{PACKAGE}."))
    assert not loaded, f"loaded before they could be changed: {loaded}"
    if change is not None:
        sys.meta_path.insert(0, _Mutator(change))
    # Other packages' plugins would cost seconds in every process; the conftest has the fixture.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments])
    return int(status), printed.getvalue()


def fresh_processes() -> ProcessPoolExecutor:
    """One process a task, one at a time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["pytest", "shardlane_lab.local_kinesis.client", "shardlane_lab.local_kinesis.shape"]
    )
    return ProcessPoolExecutor(max_workers=1, mp_context=context, max_tasks_per_child=1)
