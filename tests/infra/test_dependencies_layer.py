from __future__ import annotations

import re
import sys
from importlib.metadata import distribution, version
from pathlib import Path

import pytest

from stacks.constructs import pip_install
from stacks.constructs.pip_install import BundleError, clean, compiled_files
from stacks.synth import ROOT

REQUIREMENTS = ROOT / "layers" / "dependencies" / "requirements.txt"
PINNED = re.findall(r"^([a-z0-9-]+)==(\S+)", REQUIREMENTS.read_text("utf-8"), re.MULTILINE)
NAMES = [name for name, _ in PINNED]


def test_the_layer_holds_powertools_and_what_it_needs() -> None:
    assert NAMES == ["aws-lambda-powertools", "jmespath", "typing-extensions"]


def test_every_pin_has_hashes() -> None:
    entries = re.split(r"\n(?=[a-z])", REQUIREMENTS.read_text("utf-8"))[1:]
    assert len(entries) == len(PINNED)
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


@pytest.mark.parametrize(("name", "pinned"), PINNED, ids=NAMES)
def test_the_tests_run_what_the_layer_holds(name: str, pinned: str) -> None:
    assert version(name) == pinned


@pytest.mark.parametrize("name", NAMES)
def test_what_the_layer_holds_is_pure_python(name: str) -> None:
    """Without network: the wheel says so, and the installed one has no machine code. The pins name
    no other wheel of the version: ``Root-Is-Purelib`` wheels are the same for every platform."""
    installed = distribution(name)
    assert "Root-Is-Purelib: true" in (installed.read_text("WHEEL") or "")
    assert "Tag: py3-none-any" in (installed.read_text("WHEEL") or "")
    assert installed.files
    suffixes = {suffix for file in installed.files for suffix in Path(file).suffixes}
    assert not suffixes & pip_install.COMPILED_SUFFIXES


def test_a_layer_that_was_filled_holds_no_compiled_file() -> None:
    filled = [
        folder
        for assembly in (ROOT / "cdk.out", ROOT / "out" / "assembly")
        for folder in assembly.glob("asset.*")
        if (folder / "python" / "aws_lambda_powertools").is_dir()
    ]
    if not filled:
        pytest.skip("no layer was filled here yet: `cdk synth` and the lab do")
    for folder in filled:
        assert compiled_files(folder) == []
        assert not list(folder.rglob("__pycache__"))


@pytest.mark.parametrize("name", ["x.so", "x.cpython-313-x86_64-linux-gnu.so", "x.so.1", "x.pyd"])
def test_a_compiled_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / name).touch()
    with pytest.raises(
        BundleError, match=rf"compiled files in the layer: package/{re.escape(name)}"
    ):
        clean(tmp_path)


def test_what_two_installations_do_not_share_is_removed(tmp_path: Path) -> None:
    info = tmp_path / "jmespath-1.1.0.dist-info"
    for path in (
        tmp_path / "jmespath" / "parser.py",
        tmp_path / "jmespath" / "__pycache__" / "parser.cpython-311.pyc",
        tmp_path / "bin" / "jp.py",
        *(
            info / note
            for note in ("METADATA", "LICENSE", "RECORD", "INSTALLER", "direct_url.json")
        ),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    clean(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"jmespath/parser.py", f"{info.name}/METADATA", f"{info.name}/LICENSE"}


def test_pips_own_words_are_in_the_error(tmp_path: Path) -> None:
    broken = tmp_path / "requirements.txt"
    broken.write_text("no requirement at all\n")  # refused before pip asks any index
    with pytest.raises(BundleError, match=r"(?s)could not install .*requirements\.txt:.*Invalid"):
        pip_install.install(broken, tmp_path / "python")


def test_a_python_without_pip_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(BundleError, match=r"pip, which .* does not have: run `.* -m ensurepip`"):
        pip_install.install(REQUIREMENTS, tmp_path / "python")
