"""What several suites share: one synthesized app a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.synth import synthesize


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app as it is deployed, except that the dependencies layer is not filled: that needs the
    network. Functions find Powertools in the environment of the tests instead."""
    return synthesize(tmp_path_factory.mktemp("assembly"), bundle=False)
