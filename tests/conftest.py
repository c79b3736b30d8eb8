"""What several suites share: one synthesized app a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from stacks.synth import synthesize

# The suite tries the same examples every time, so that a change is judged by itself; `make soak`
# draws new ones.
settings.register_profile("suite", derandomize=True, deadline=None)
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000"))
settings.register_profile("soak", max_examples=EXAMPLES, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app as it is deployed, except that the dependencies layer is not filled: that needs the
    network. Functions find Powertools in the environment of the tests instead."""
    return synthesize(tmp_path_factory.mktemp("assembly"), bundle=False)
