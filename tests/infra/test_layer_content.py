"""What a function gets of the package: all that it may import, and no command line."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.synth import ROOT
from tests.infra.cloud_assembly import CloudAssembly

FUNCTIONS = sorted(path.name for path in (ROOT / "functions").iterdir() if path.is_dir())
VARIABLES = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "CONSUMER_FUNCTION": "billing",
    "CONSUMER_TIMEOUT_S": "30",
    "FAILURE_POLICY": "park",
    "LABEL": "lambda",
    "LOG_KEYS": "false",
    "PARKING_CONSUMER": "billing",
    "PARKING_TABLE": "parking",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    "POWERTOOLS_METRICS_NAMESPACE": "Shardlane",
    "POWERTOOLS_SERVICE_NAME": "orders",
    "STREAM_NAME": "orders",
    "WORKERS": "2",
}
LOADED = """
import sys
sys.path[:0] = sys.argv[1:]
import handler
for module in list(sys.modules.values()):
    if module.__name__.partition(".")[0] == "shardlane":
        print(module.__file__)
assert callable(handler.lambda_handler)
"""


@pytest.fixture(scope="module")
def layer(distinct: CloudAssembly) -> Path:
    (found,) = (
        distinct.folder / str(resource.body["Metadata"]["aws:asset:path"])
        for resource in distinct.of_type("AWS::Lambda::LayerVersion")
        if "partition key" in resource.properties["Description"]
    )
    return found / "python"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_imports_from_the_layer_as_it_is_packaged(layer: Path, function: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(layer), str(ROOT / "functions" / function)],
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **VARIABLES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = done.stdout.split()
    assert files
    assert all(Path(each).is_relative_to(layer) for each in files), files


def test_nothing_in_the_layer_imports_what_was_left_out(layer: Path) -> None:
    """Also where an import waits in a function."""
    imported = {
        name for path in layer.rglob("*.py") for name in _imports(ast.parse(path.read_bytes()))
    }
    assert len(imported) > 50
    missing = {name for name in imported if not _is_there(layer, name)}
    assert missing == set()


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from _own([node.module])
        if isinstance(node, ast.Import):
            yield from _own([alias.name for alias in node.names])


def _own(names: list[str]) -> list[str]:
    return [name for name in names if name.split(".")[0] == "shardlane"]


def _is_there(layer: Path, name: str) -> bool:
    path = layer.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_the_command_line_stays_out(layer: Path) -> None:
    package = layer / "shardlane"
    assert not (package / "cli").exists()
    assert {path.name for path in (package / "operations").iterdir()} == {
        "__init__.py",
        "redrive_schedule.py",
        "redrive_settings.py",
        "scheduled_redrive.py",
    }
    assert (package / "py.typed").is_file()
