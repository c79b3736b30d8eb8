"""``docs/local-kinesis.md`` says what the code says: every limit, delay and fault with its value,
and every operation that is missing."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import Fault, FaultKind, fault_plan
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import local_operations
from shardlane_lab.local_kinesis.settings_file import service_settings
from shardlane_lab.local_kinesis.shape import service_operations

PAGE = (Path(__file__).parents[3] / "docs" / "local-kinesis.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of the table under a heading, by the name in the first one."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            found[name.strip("`")] = cells
    return found


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_every_limit_is_there_with_its_number_and_whether_it_can_be_off() -> None:
    shown = rows("Limits")
    assert sorted(shown) == sorted(each.name for each in fields(Limits))
    for each in fields(Limits):
        default, off, _ = shown[each.name]
        assert off == ("yes" if "None" in str(each.type) else "no"), each.name
        value = getattr(Limits(), each.name)
        if isinstance(value, (int, float)):
            assert number(default) == value, each.name


def test_every_delay_is_there_with_its_measured_value() -> None:
    shown = rows("Delays")
    assert list(shown) == [each.name for each in fields(Delays)]
    for name, (measured, _) in shown.items():
        assert number(measured) == getattr(Delays.measured(), name), name


def test_every_fault_is_there_with_the_operations_at_which_it_happens() -> None:
    shown = rows("Faults")
    assert list(shown) == [kind.value for kind in FaultKind]
    for name, (_, places) in shown.items():
        if places.startswith("any"):
            Fault(kind=FaultKind(name), operation="ListStreams")
            continue
        for operation in places.split(", "):
            Fault(kind=FaultKind(name), operation=operation)
        with pytest.raises(ValueError, match=f"{name} happens at"):
            Fault(kind=FaultKind(name), operation="ListStreams")


def test_every_field_of_a_rule_is_named() -> None:
    section = PAGE.split("\n## Faults\n")[1].split("\n## ")[0]
    for each in fields(Fault):
        assert re.search(rf"\b{each.name}\b", section), each.name


def test_every_operation_that_is_missing_is_named_and_no_other() -> None:
    missing = re.search(r"- \*\*Not there\*\*.*?(?=\n- )", PAGE, re.S)
    assert missing is not None
    named = set(re.findall(r"`(\w+)`", missing[0])) - {"UnknownOperationException"}
    assert named == service_operations() - local_operations()


def test_the_files_of_the_page_can_be_read() -> None:
    settings, faults = re.findall(r"<<'END'\n(\[.*?|seed.*?)END\n", PAGE, re.S)
    assert service_settings(tomllib.loads(settings)).limits.write_bytes_per_s is None
    assert len(fault_plan(tomllib.loads(faults)).rules) == 3
