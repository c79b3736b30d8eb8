"""A pytest fixture that runs your handler behind an event source mapping, in virtual time.

No Docker, no network, milliseconds a test::

    def test_a_bad_order_is_given_up_alone(kinesis_mapping):
        trial = kinesis_mapping(my_app.handler, bisect_batch_on_function_error=True,
                                maximum_retry_attempts=2, report_batch_item_failures=True)
        trial.put_all([({"id": 1}, "alice"), ("not JSON", "bob"), ({"id": 2}, "carol")])
        trial.settle()
        assert trial.on_failure[0]["KinesisBatchInfo"]["batchSize"] == 1

Installed with ``shardlane-lab``, pytest finds it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # Imported when the fixture is used: every pytest run of an environment loads this module.
    from shardlane_lab.local_lambda.in_process_function import Handler
    from shardlane_lab.local_lambda.mapping_config import MappingConfig
    from shardlane_lab.local_lambda.trial import MappingTrial


class MappingTrials:
    """Makes trials and closes them at the end of the test."""

    def __init__(self, closing: ExitStack) -> None:
        self._closing = closing

    def __call__(
        self, handler: Handler, *, config: MappingConfig | None = None, **options: Any
    ) -> MappingTrial:
        """A stream, a mapping that reads it, and ``handler(event, context)`` behind it.

        ``options`` are fields of ``MappingConfig`` (the mapping's parameters) and of
        ``TrialSettings`` (``source="efo"``, ``shards=2``, ``timeout_s=5`` …). ``config`` is a
        whole mapping instead, for example one of your own template
        (``read_assembly(folder).mappings[0].config``).

        Where it is not said otherwise the mapping starts at TRIM_HORIZON, sends what it gives up
        to a queue (``trial.on_failure``) and counts events; all else is the service's default.
        """
        from shardlane_lab.local_lambda.trial import MappingTrial
        from shardlane_lab.local_lambda.trial_options import split_options

        chosen, settings = split_options(config, options)
        return self._closing.enter_context(MappingTrial(handler, chosen, settings))


@pytest.fixture
def kinesis_mapping() -> Iterator[MappingTrials]:
    """``kinesis_mapping(handler, **options)`` gives a ``MappingTrial``; see ``MappingTrials``."""
    with ExitStack() as closing:
        yield MappingTrials(closing)
