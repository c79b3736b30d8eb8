"""One process synthesizes each variant of the application once: the first costs seconds, because
Node.js starts, and each further one about one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from stacks.synth import synthesize
from tests.infra.cloud_assembly import CloudAssembly

# Pairwise different, so that two parameters that were swapped cannot look right.
STANDARD_MAPPING = {
    "batch_size": 101,
    "batching_window_s": 2,
    "parallelization_factor": 3,
    "retry_attempts": 307,
    "starting_position": "TRIM_HORIZON",
    "bisect_on_error": True,
}
EFO_MAPPING = {
    "batch_size": 211,
    "batching_window_s": 5,
    "parallelization_factor": 4,
    "retry_attempts": 411,
    "starting_position": "LATEST",
    "bisect_on_error": False,
}
DISTINCT = {
    "removal": "destroy",
    "policy": "park",
    "payload_bucket": True,
    "redrive_every_min": 7,
    "alarm_email": "orders@example.com",
    "parked_after_s": 29,
    "load": True,
    "stream_name": "orders",
    "shard_count": 6,
    "stream_retention_hours": 48,
    "lambda_efo_consumer_name": "orders-pushed",
    "boto3_efo_consumer_name": "orders-pulled",
    "standard": {
        "function_name": "read-shared",
        "memory_mb": 192,
        "timeout_s": 17,
        "workers": 8,
        "log_level": "DEBUG",
        "reserved_concurrency": 12,
        "mapping": STANDARD_MAPPING,
    },
    "efo": {
        "function_name": "read-pushed",
        "memory_mb": 256,
        "timeout_s": 19,
        "workers": 9,
        "log_keys": True,
        "mapping": EFO_MAPPING,
    },
    "service_name": "order-service",
    "metrics_namespace": "Orders",
    "log_retention_days": 14,
    "on_failure_retention_days": 13,
    "late_after_s": 23,
    "tags": {"team": "orders", "cost": "42"},
}

ECR_IMAGE = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/orders/worker:7"
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
OTHERWISE = {
    "policy": "drop",
    "architecture": "x86_64",
    "on_failure": "bucket",
    "on_failure_bucket_days": 31,
    "key_arn": KEY,
    "payload_bucket": True,
    "worker": {
        "image": "public.ecr.aws/orders/worker:1.2",
        "name": "order-keeper",
        "source": "efo",
        "start": "horizon",
        "tasks": 3,
        "workers": 24,
        "cpu_units": 512,
        "memory_mb": 1_024,
        "stop_timeout_s": 90,
    },
    "standard": {"mapping": {"retry_attempts": 7, "max_record_age_s": 601}},
    "tags": {"team": "orders"},
}
"""The choices that ``DISTINCT`` does not make."""

Synthesized = Callable[..., CloudAssembly]


@pytest.fixture(scope="session")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Synthesizes with a context and the settings of a stage ``test``; needs no network."""

    def make(
        settings: Mapping[str, Any] | None = None, *, sources: Path | None = None, **context: Any
    ) -> CloudAssembly:
        if settings is not None:
            context |= {"stage": "test", "stages": {"test": settings}}
        chosen = {} if sources is None else {"sources": sources}
        folder = tmp_path_factory.mktemp("cdk") / "out"
        return CloudAssembly(synthesize(folder, context=context, bundle=False, **chosen))

    return make


@pytest.fixture(scope="session")
def distinct(synthesized: Synthesized) -> CloudAssembly:
    """The application with every setting other than its default and than its neighbours."""
    return synthesized(DISTINCT)


@pytest.fixture(scope="session")
def otherwise(synthesized: Synthesized) -> CloudAssembly:
    return synthesized(OTHERWISE)


@pytest.fixture(scope="session")
def dev(synthesized: Synthesized) -> CloudAssembly:
    """The application as ``cdk.json`` has it."""
    return synthesized()


@pytest.fixture(scope="session")
def prod(synthesized: Synthesized) -> CloudAssembly:
    return synthesized(stage="prod")
