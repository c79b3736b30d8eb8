from __future__ import annotations

from collections.abc import Iterator

import botocore.session
import pytest

from tests.flows.operations.stage import Stage, running


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The local stack, and an environment that leads every command there."""
    with (
        running(tmp_path_factory.mktemp("app")) as made,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        # Each command reads the models of the services that it calls, which takes longer than
        # the calls; here they all share what the first one has read.
        loader = botocore.session.create_loader()
        monkeypatch.setattr(botocore.session, "create_loader", lambda *given: loader)
        yield made
