"""The environment of a sandbox: the service's variables, the function's own, and nothing of the
user's, so that no handler on a laptop can reach a real account or behave by accident."""

from __future__ import annotations

import os
from collections.abc import Mapping

from shardlane_lab.local_lambda.function_config import FunctionConfig

_KEPT = ("PATH", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter itself may need to start."""
_NO_SERVICE = "http://127.0.0.1:9"


def sandbox_environment(
    config: FunctionConfig,
    runtime_api: str,
    log_stream: str,
    endpoints: Mapping[str, str],
) -> dict[str, str]:
    """Source: "Defined runtime environment variables", Lambda Developer Guide.

    ``endpoints`` are ``AWS_ENDPOINT_URL`` and its per-service forms; the function's variables
    lie under them and under the reserved ones, as the service refuses to let them be set. A
    service without an endpoint gets a closed port, not AWS.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "AWS_ENDPOINT_URL": _NO_SERVICE,
        **config.environment,
        **_reserved(config, runtime_api, log_stream),
        **_local_credentials(),
        **endpoints,
        **_python(config),
    }


def _reserved(config: FunctionConfig, runtime_api: str, log_stream: str) -> dict[str, str]:
    return {
        "_HANDLER": config.handler,
        "AWS_REGION": config.region,
        "AWS_DEFAULT_REGION": config.region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{config.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": config.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": config.log_group_name,
        "AWS_LAMBDA_LOG_STREAM_NAME": log_stream,
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "LAMBDA_TASK_ROOT": str(config.code_folder.resolve()),
    }


def _local_credentials() -> dict[str, str]:
    """Dummies; and no profile, no metadata service to look real ones up."""
    return {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _python(config: FunctionConfig) -> dict[str, str]:
    folders = [layer / "python" for layer in reversed(config.layer_folders)]
    present = [str(folder.resolve()) for folder in folders if folder.is_dir()]
    own = config.environment.get("PYTHONPATH")
    return {
        "PYTHONPATH": os.pathsep.join([*present, own] if own else present),
        # A __pycache__ in an asset folder would change its hash, and so the deployment.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
