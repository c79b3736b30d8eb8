"""A sandbox sees the service's variables and its own, and nothing of the user's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler

ENVIRON = "import os\ndef handler(event, context):\n    return dict(os.environ)\n"


def environ(sandboxed: SandboxedHandler) -> dict[str, Any]:
    sandboxed.write(ENVIRON)
    (result,) = sandboxed.invoke({})
    values: dict[str, Any] = result.payload
    return values


def test_the_users_credentials_and_settings_stay_outside(
    sandboxed: SandboxedHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "HTTPS_PROXY",
        "MY_SECRET",
    ):
        monkeypatch.setenv(name, "of-the-user")
    seen = environ(sandboxed)
    assert "of-the-user" not in seen.values()
    assert seen["AWS_ACCESS_KEY_ID"] == "local"
    assert seen["AWS_CONFIG_FILE"] == os.devnull
    assert seen["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert seen["AWS_EC2_METADATA_DISABLED"] == "true"


def test_the_reserved_variables_are_the_services(sandboxed: SandboxedHandler) -> None:
    sandboxed.options |= {
        "environment": {"STAGE": "lab", "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "mine"},
        "memory_mb": 512,
        "region": "ap-northeast-1",
    }
    seen = environ(sandboxed)
    assert seen["STAGE"] == "lab"
    assert seen["AWS_REGION"] == seen["AWS_DEFAULT_REGION"] == "ap-northeast-1"
    assert seen["AWS_ACCESS_KEY_ID"] == "local"
    assert seen["AWS_LAMBDA_FUNCTION_NAME"] == "orders"
    assert seen["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "512"
    assert seen["AWS_LAMBDA_FUNCTION_VERSION"] == "$LATEST"
    assert seen["AWS_LAMBDA_LOG_GROUP_NAME"] == "/aws/lambda/orders"
    assert seen["AWS_EXECUTION_ENV"] == "AWS_Lambda_python3.13"
    assert seen["_HANDLER"] == "app.handler"
    assert seen["LAMBDA_TASK_ROOT"] == str(sandboxed.folder.resolve())
    assert seen["TZ"] == ":UTC"


def test_a_service_without_a_local_endpoint_gets_a_closed_port_and_not_aws(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.endpoints = {"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4566"}
    seen = environ(sandboxed)
    assert seen["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert seen["AWS_ENDPOINT_URL_SQS"] == "http://127.0.0.1:4566"


def test_the_functions_own_endpoint_does_not_win_over_a_local_one(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.options["environment"] = {"AWS_ENDPOINT_URL": "https://kinesis.amazonaws.com"}
    sandboxed.endpoints = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4567"}
    assert environ(sandboxed)["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4567"


def test_a_later_layer_lies_over_an_earlier_one_and_the_code_over_both(
    sandboxed: SandboxedHandler, tmp_path: Path
) -> None:
    layers = []
    for name in ("first", "second"):
        folder = tmp_path / name / "python"
        folder.mkdir(parents=True)
        (folder / "shared.py").write_text(f"who = '{name}'\n", encoding="utf-8")
        (folder / f"only_{name}.py").write_text("", encoding="utf-8")
        (folder / "covered.py").write_text("who = 'layer'\n", encoding="utf-8")
        layers.append(tmp_path / name)
    sandboxed.write("who = 'code'\n", "covered.py")
    sandboxed.write(
        "import covered, only_first, only_second, shared\n"
        "def handler(event, context):\n"
        "    return [shared.who, covered.who]\n"
    )
    sandboxed.options["layer_folders"] = tuple(layers)
    (result,) = sandboxed.invoke({})
    assert result.payload == ["second", "code"]


def test_a_run_leaves_nothing_in_the_folders(sandboxed: SandboxedHandler) -> None:
    """A ``__pycache__`` would change an asset's hash."""
    sandboxed.write("import beside\ndef handler(event, context):\n    pass\n")
    sandboxed.write("x = 1\n", "beside.py")
    sandboxed.invoke({})
    assert sorted(each.name for each in sandboxed.folder.iterdir()) == ["app.py", "beside.py"]
