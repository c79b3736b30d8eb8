"""The CDK runs in Node.js, behind Python's back: this says so when it is missing, and keeps it
quiet when it is there. To be called before ``aws_cdk`` is imported for the first time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

OLDEST_MAJOR = 20
# jsii's own switch (@jsii/check-node): a list of the major versions whose end of life it is not to
# warn of. Its banner of 11 lines, once a process, would hide what matters.
SILENCE = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"


class NodeError(RuntimeError):
    """Node.js is missing or too old."""


def prepare_node() -> None:
    """Raises ``NodeError``. ``JSII_NODE`` may name the program, as for jsii itself."""
    program = os.environ.get("JSII_NODE", "node")
    if shutil.which(program) is None:
        raise NodeError(
            f"the AWS CDK needs Node.js {OLDEST_MAJOR} or newer, and `{program}` is not on the "
            "PATH: install it from https://nodejs.org, or name it in JSII_NODE"
        )
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    check_version(program, version.stdout.strip())
    silenced = {each for each in os.environ.get(SILENCE, "").split(",") if each}
    os.environ[SILENCE] = ",".join(sorted(silenced | {str(OLDEST_MAJOR)}))


def check_version(program: str, version: str) -> None:
    """``version`` as ``node --version`` prints it, ``v20.20.2``. Raises ``NodeError``."""
    match = re.match(r"v(\d+)\.", version)
    if match is None or int(match[1]) < OLDEST_MAJOR:
        raise NodeError(
            f"the AWS CDK needs Node.js {OLDEST_MAJOR} or newer; `{program} --version` says "
            f"{version!r}"
        )
