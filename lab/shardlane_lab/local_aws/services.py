"""The lab's side of the services: starts and ends their process, and makes clients of them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import botocore.session
from botocore.config import Config

from shardlane_lab.errors import ProcessError

STARTED_WITHIN_S = 60.0
ENDPOINT_VARIABLES = (
    "AWS_ENDPOINT_URL_CLOUDWATCH",
    "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_SNS",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_STS",
)
"""Where the AWS CLI and the SDKs look for each service's endpoint."""


class LocalAws:
    """``await start()``, then ``client`` and ``variables``, then ``await stop()``."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._process: asyncio.subprocess.Process | None = None
        self.endpoint = ""

    async def start(self, port: int = 0) -> None:
        """Listens on 127.0.0.1 (0: any free port). Raises ``ProcessError`` if it cannot."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "shardlane_lab.local_aws.serve",
            str(port),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C goes to the lab alone, which ends this in order
        )
        try:
            said = await self._first_line()
        except BaseException:
            await self.stop()
            raise
        if "port" not in said:
            await self.stop()
            raise ProcessError(f"the local AWS services did not start: {said.get('error')}")
        self.endpoint = f"http://127.0.0.1:{said['port']}"

    async def _first_line(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(STARTED_WITHIN_S):
                line = await self._process.stdout.readline()
        except TimeoutError:
            return {"error": f"no answer within {STARTED_WITHIN_S:.0f} s"}
        said: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return said

    async def stop(self) -> None:
        """Everything in them is gone. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def client(self, service: str) -> Any:
        """A boto3-like client (``dynamodb``, ``sqs``, ``s3``, ``sns``, ``logs``,
        ``cloudwatch``); it blocks, so call it in a thread."""
        return local_client(service, self.endpoint, self._region)

    def variables(self) -> dict[str, str]:
        """For the environment of the AWS CLI, an SDK, or a function. Calls to a service that is
        not here come here too, and are told so: without an endpoint they would go to AWS."""
        return dict.fromkeys(("AWS_ENDPOINT_URL", *ENDPOINT_VARIABLES), self.endpoint)


def local_client(service: str, endpoint: str, region: str) -> Any:
    """Looks at nothing of the user's: no profile, no credentials, no proxy, no endpoint."""
    nowhere = (None, None, os.devnull, None)
    session = botocore.session.Session(
        {
            "profile": (None, None, None, None),
            "config_file": nowhere,
            "credentials_file": nowhere,
        }
    )
    return session.create_client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(proxies={}, retries={"mode": "standard", "max_attempts": 2}),
    )


def _environment() -> dict[str, str]:
    """moto reads credentials and settings from the environment; it gets none of the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "MOTO_ACCOUNT_ID": "000000000000",
    }
