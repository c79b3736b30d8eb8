"""The arguments that say which account, region and endpoint a command works on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shardlane.operations.errors import OperationError

if TYPE_CHECKING:
    from shardlane.operations.clients import Clients


def add_account(parser: argparse.ArgumentParser) -> None:
    account = parser.add_argument_group(
        "account", "default: what the environment and the AWS configuration say"
    )
    account.add_argument("--region", metavar="REGION")
    account.add_argument("--profile", metavar="NAME")
    account.add_argument(
        "--endpoint-url",
        metavar="URL",
        help="of every service; AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE> are heeded too",
    )


@contextmanager
def account(given: argparse.Namespace) -> Iterator[Clients]:
    """The clients for ``add_account``'s arguments; whatever botocore raises inside is one line."""
    try:
        from shardlane.operations.aws_errors import explained
        from shardlane.operations.clients import Clients
    except ModuleNotFoundError as error:
        if error.name not in ("boto3", "botocore"):
            raise
        raise OperationError("boto3 is not installed: pip install 'shardlane[cli]'") from error
    # boto3 alone looks at AWS_DEFAULT_REGION only; the other SDKs and the AWS CLI at both.
    region = given.region or os.environ.get("AWS_REGION")
    clients = Clients(region, given.profile, given.endpoint_url)
    try:
        with explained():
            yield clients
    finally:
        clients.close()


def agreed(question: str, *, yes: bool) -> bool:
    """Whether the person agrees to a change of the account; ``yes`` says so in advance.

    Raises ``OperationError`` if there is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise OperationError(f"{question} Nobody is there to ask: give --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
