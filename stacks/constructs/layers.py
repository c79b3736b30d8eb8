"""The two layers of a consumer: our runtime package, and what it depends on."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import BundlingOptions
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .clean_asset import LEFTOVERS
from .pip_bundle import PipBundle
from .pip_install import INSTALL_ARGUMENTS

RUNTIME = lambda_.Runtime.PYTHON_3_13
COMMAND_LINE = [
    "python/shardlane/cli",
    "python/shardlane/operations/*",
    *(
        f"!python/shardlane/operations/{name}.py"
        for name in ("__init__", "redrive_schedule", "redrive_settings", "scheduled_redrive")
    ),
]
"""Of the package, what only ``shardlane`` on somebody's machine needs: a change of it is none of a
function's. The scheduled redrive is a function's own."""


class RuntimeLayer(lambda_.LayerVersion):
    """``folder/python/shardlane`` without its command line."""

    def __init__(self, scope: Construct, construct_id: str, *, folder: Path) -> None:
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(str(folder), exclude=[*LEFTOVERS, *COMMAND_LINE]),
            compatible_runtimes=[RUNTIME],
            description="shardlane: Kinesis batches by partition key",
        )


class DependenciesLayer(lambda_.LayerVersion):
    """What ``folder/requirements.txt`` pins, installed by pip when the app is synthesized.

    The asset's hash is that of the source (the pins) and of ``command``: synthesizing again with
    the same pins installs nothing, and a changed argument of pip counts as a change.
    """

    def __init__(self, scope: Construct, construct_id: str, *, folder: Path) -> None:
        bundling = BundlingOptions(
            image=RUNTIME.bundling_image,  # required by the CDK; never pulled
            command=["pip", *INSTALL_ARGUMENTS],
            local=PipBundle(folder / "requirements.txt"),
        )
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(
                str(folder), exclude=[*LEFTOVERS, "*.in"], bundling=bundling
            ),
            compatible_runtimes=[RUNTIME],
            description="shardlane: Powertools for AWS Lambda and what it needs",
        )
