"""Code that is edited while the local stack runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from shardlane_lab.local_lambda.code_watch import CodeWatch, fingerprint
from shardlane_lab.local_lambda.function import LocalFunction
from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler


def answering(value: int) -> str:
    return f"def handler(event, context):\n    return {value}\n"


def test_a_file_that_is_edited_added_or_removed_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text("a = 1", encoding="utf-8")
    watch = CodeWatch(tmp_path)
    assert not watch.edited()
    os.utime(file, ns=(1, 1))
    assert watch.edited()
    assert not watch.edited()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "orders.py").write_text("", encoding="utf-8")
    assert watch.edited()
    file.unlink()
    assert watch.edited()


def test_what_python_compiles_is_no_edit(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("", encoding="utf-8")
    before = fingerprint(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "app.pyc").write_bytes(b"x")
    assert fingerprint(tmp_path) == before


def test_the_invocation_after_an_edit_runs_the_new_code(sandboxed: SandboxedHandler) -> None:
    sandboxed.options["watch"] = True
    sandboxed.write(answering(1))

    async def edit(function: LocalFunction) -> list[object]:
        before = [(await function.invoke({})).payload for _ in range(2)]
        sandboxed.write(answering(22))
        return before + [(await function.invoke({})).payload for _ in range(2)]

    assert sandboxed.use(edit) == [1, 1, 22, 22]
    assert sum(line.startswith("INIT_START") for line in sandboxed.lines) == 2


def test_without_watching_the_code_stays(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(answering(1))

    async def edit(function: LocalFunction) -> list[object]:
        before = await function.invoke({})
        sandboxed.write(answering(22))
        return [before.payload, (await function.invoke({})).payload]

    assert sandboxed.use(edit) == [1, 1]


def test_an_invocation_under_way_ends_on_its_code_and_its_sandbox_with_it(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.options["watch"] = True
    sandboxed.write(
        "import pathlib, time\n"
        "def handler(event, context):\n"
        "    print('begun', flush=True)\n"
        "    while not pathlib.Path(event['until']).exists():\n"
        "        time.sleep(0.01)\n"
        "    return 'old'\n"
    )
    until = sandboxed.folder.parent / "until"

    async def edit(function: LocalFunction) -> list[object]:
        running = asyncio.create_task(function.invoke({"until": str(until)}))
        await sandboxed.wait_for("begun")
        sandboxed.write("def handler(event, context):\n    return 'new'\n")
        beside = await function.invoke({})
        until.touch()
        old = await running
        after = [await function.invoke({}) for _ in range(2)]
        return [beside.payload, old.payload, *(each.payload for each in after)]

    assert sandboxed.use(edit) == ["new", "old", "new", "new"]
