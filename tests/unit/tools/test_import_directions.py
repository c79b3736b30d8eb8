"""The import rules hold here, and the check sees a breach."""

import ast
from pathlib import Path

import pytest
from tools import import_directions
from tools.import_directions import RULES, allowed, imports

ROOT = Path(__file__).parents[3]
PACKAGE, FUNCTIONS, LAB, STACKS = RULES


def test_this_repository_keeps_its_rules() -> None:
    assert list(import_directions.breaches(ROOT)) == []


@pytest.mark.parametrize(
    ("rule", "module", "top_level", "expected"),
    [
        (PACKAGE, "json", True, True),
        (PACKAGE, "aws_lambda_powertools.utilities.batch", True, True),
        (PACKAGE, "boto3", True, False),
        (PACKAGE, "boto3", False, True),
        (PACKAGE, "shardlane_lab.sample", False, False),
        (FUNCTIONS, "shardlane", True, True),
        (FUNCTIONS, "boto3", True, True),
        (FUNCTIONS, "stacks.settings", True, False),
        (FUNCTIONS, ".sibling", True, False),
        (LAB, "shardlane.latency", True, True),
        (LAB, "rich.live", True, True),
        (LAB, "stacks.settings", True, False),
        (STACKS, "aws_cdk", True, True),
        (STACKS, "shardlane.settings", True, True),
        (STACKS, "shardlane", True, False),
        (STACKS, "shardlane_lab", True, False),
    ],
)
def test_who_may_import_whom(
    rule: import_directions.Rule, module: str, top_level: bool, expected: bool
) -> None:
    assert allowed(module, rule, top_level=top_level) is expected


def test_what_counts_as_top_level() -> None:
    source = """
import a
if TYPE_CHECKING:
    import typing_only
try:
    from b import c
except ImportError:
    pass
def f():
    import lazy
class C:
    from . import sibling
"""
    assert [(module, top) for module, _, top in imports(ast.parse(source))] == [
        ("a", True),
        ("b", True),
        ("lazy", False),
        (".", True),
    ]
