"""Code that is edited while the local stack runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from shardlane_lab.local_lambda.code_watch import fingerprint, follow_code
from shardlane_lab.local_lambda.function import LocalFunction
from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler


def answering(value: int) -> str:
    return f"def handler(event, context):\n    return {value}\n"


def test_a_file_that_is_edited_added_or_removed_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text("a = 1", encoding="utf-8")
    seen = [fingerprint(tmp_path)]
    os.utime(file, ns=(1, 1))
    seen.append(fingerprint(tmp_path))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "orders.py").write_text("", encoding="utf-8")
    seen.append(fingerprint(tmp_path))
    file.unlink()
    seen.append(fingerprint(tmp_path))
    assert len(set(seen)) == 4


def test_what_python_compiles_is_no_edit(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("", encoding="utf-8")
    before = fingerprint(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "app.pyc").write_bytes(b"x")
    assert fingerprint(tmp_path) == before


def test_the_invocation_after_an_edit_runs_the_new_code(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(answering(1))

    async def edit(function: LocalFunction) -> list[object]:
        changed = asyncio.Event()
        names: list[str] = []

        def told(name: str) -> None:
            names.append(name)
            changed.set()

        before = await function.invoke({})
        following = asyncio.create_task(follow_code([function], told))
        await asyncio.sleep(0)  # it has looked once
        sandboxed.write(answering(22))
        await changed.wait()
        following.cancel()
        after = await function.invoke({})
        return [before.payload, after.payload, names]

    assert sandboxed.use(edit) == [1, 22, ["orders"]]


def test_an_invocation_under_way_ends_on_its_code_and_its_sandbox_with_it(
    sandboxed: SandboxedHandler,
) -> None:
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
        await function.reload()
        until.touch()
        return [(await running).payload, (await function.invoke({})).payload]

    assert sandboxed.use(edit) == ["old", "new"]
