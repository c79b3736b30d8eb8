"""The parameters of a mapping, as the app deploys them and as an experiment changes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shardlane_lab.experiment import Experiment
from shardlane_lab.local_lambda.mapping_config import MappingConfig

SHIPPED = MappingConfig(
    starting_position="LATEST",
    maximum_record_age_s=3_600,
    maximum_retry_attempts=10,
    bisect_batch_on_function_error=True,
    report_batch_item_failures=True,
    event_count_metrics=True,
    on_failure="sqs",
)
"""As the CDK app that ships deploys it in its first stage, which a test compares: a run in virtual
time needs no template."""
SHIPPED_WORKERS = 4
SHIPPED_TIMEOUT_S = 30.0


def with_parameters(config: MappingConfig, experiment: Experiment) -> MappingConfig:
    """The mapping's parameters with those that the experiment sets."""
    given = experiment.mapping
    wanted: dict[str, Any] = {
        "batch_size": given.batch_size,
        "maximum_batching_window_s": given.window_s,
        "parallelization_factor": given.parallelization_factor,
        "maximum_retry_attempts": given.retry_attempts,
        "bisect_batch_on_function_error": given.bisect,
        "maximum_record_age_s": given.max_record_age_s,
    }
    return replace(config, **{name: value for name, value in wanted.items() if value is not None})
