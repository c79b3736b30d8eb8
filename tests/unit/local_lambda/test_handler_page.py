"""``docs/testing-a-handler.md`` names what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from shardlane_lab.local_lambda.mapping_config import MappingConfig, Undocumented
from shardlane_lab.local_lambda.trial import MappingTrial, TrialSettings

PAGE = (Path(__file__).parents[3] / "docs" / "testing-a-handler.md").read_text(encoding="utf-8")


def test_every_undocumented_switch_is_there_with_its_default() -> None:
    shown = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, re.M))
    defaults = {each.name: getattr(Undocumented(), each.name) for each in fields(Undocumented)}
    assert {name: shown[name].strip("`") for name in defaults} == {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in defaults.items()
    }


def test_options_and_methods_exist() -> None:
    section = PAGE.split("\n## What a trial offers\n")[1].split("\n## ")[0]
    table, options = section.split("\nOptions are ")
    for first_cell in re.findall(r"^\| (`.+?) \|", table, re.M):
        for name in re.findall(r"`(\w+)", first_cell):
            assert hasattr(MappingTrial, name) or name in ("invocations", "on_failure"), name
    known = {each.name for kind in (MappingConfig, TrialSettings) for each in fields(kind)}
    named = set(re.findall(r"`(\w+)[`=]", options.split("Your template")[0]))
    assert named <= known, named - known
