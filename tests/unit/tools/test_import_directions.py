"""The import rules hold here, and the check sees a breach."""

import ast
from pathlib import Path

import pytest

from tools import import_directions
from tools.import_directions import RULES, allowed, eager_breaches, imports

ROOT = Path(__file__).parents[3]
PACKAGE, FUNCTIONS, LAB, STACKS, CONSTRUCTS = RULES


def test_this_repository_keeps_its_rules() -> None:
    assert list(import_directions.breaches(ROOT)) == []


@pytest.mark.parametrize(
    ("rule", "module", "expected"),
    [
        (PACKAGE, "json", True),
        (PACKAGE, "aws_lambda_powertools.utilities.batch", True),
        (PACKAGE, "boto3", True),
        (PACKAGE, "requests", False),
        (PACKAGE, "shardlane_lab.sample", False),
        (FUNCTIONS, "shardlane", True),
        (FUNCTIONS, "boto3", True),
        (FUNCTIONS, "stacks.settings", False),
        (FUNCTIONS, ".sibling", False),
        (LAB, "shardlane.latency", True),
        (LAB, "rich.live", True),
        (LAB, "stacks.settings", False),
        (STACKS, "aws_cdk", True),
        (STACKS, "shardlane.settings", True),
        (STACKS, "shardlane", False),
        (STACKS, "shardlane_lab", False),
        (CONSTRUCTS, "aws_cdk", True),
        (CONSTRUCTS, ".metrics", True),
        (CONSTRUCTS, "..settings", False),
        (CONSTRUCTS, "stacks.constructs.metrics", False),
        (CONSTRUCTS, "shardlane", False),
    ],
)
def test_who_may_import_whom(rule: import_directions.Rule, module: str, expected: bool) -> None:
    assert allowed(module, rule) is expected


def test_boto3_must_not_come_with_the_package() -> None:
    imported = {
        "shardlane": {"shardlane.record"},
        "shardlane.record": {"json", "shardlane", "shardlane.store"},
        "shardlane.store": {"boto3"},
        "shardlane.client": {"botocore.config", "shardlane.store"},
    }
    assert list(eager_breaches(imported, PACKAGE)) == [
        "importing shardlane loads boto3: shardlane → shardlane.record → shardlane.store → boto3"
    ]
    imported["shardlane.record"].discard("shardlane.store")
    assert list(eager_breaches(imported, PACKAGE)) == []


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
