"""Keyword arguments of a trial, sorted into the two values that they are fields of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.trial import TrialSettings

_PARAMETERS = frozenset(each.name for each in fields(MappingConfig))
_SETTINGS = frozenset(each.name for each in fields(TrialSettings))

DEFAULT_CONFIG = MappingConfig(
    starting_position="TRIM_HORIZON", on_failure="sqs", event_count_metrics=True
)


def split_options(
    config: MappingConfig | None, options: Mapping[str, Any]
) -> tuple[MappingConfig, TrialSettings]:
    """Raises ``TypeError`` listing what is allowed for an option that neither has, and
    ``MappingError`` for a value outside its range."""
    unknown = sorted(set(options) - _PARAMETERS - _SETTINGS)
    if unknown:
        raise TypeError(
            f"unknown: {', '.join(unknown)}; a mapping has {', '.join(sorted(_PARAMETERS))}; "
            f"a trial has {', '.join(sorted(_SETTINGS))}"
        )
    parameters = {name: value for name, value in options.items() if name in _PARAMETERS}
    settings = {name: value for name, value in options.items() if name in _SETTINGS}
    return replace(config or DEFAULT_CONFIG, **parameters), TrialSettings(**settings)
