"""The boto3 clients of one account, region and endpoint, each made when it is first used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shardlane.operations.aws_errors import explained


@dataclass(slots=True)
class Clients:
    """``None`` leaves a choice to boto3: its environment variables, among them
    ``AWS_ENDPOINT_URL`` and ``AWS_ENDPOINT_URL_KINESIS`` and the like, and its files."""

    region: str | None = None
    profile: str | None = None
    endpoint_url: str | None = None
    """Of every service; for a stack in which all services answer in one place."""
    _session: Any = None
    _made: dict[tuple[str, float | None], Any] = field(default_factory=dict)

    def __call__(self, service: str, *, answer_within_s: float | None = None) -> Any:
        """``answer_within_s``: waits so long for an answer and never repeats a call, for calls
        that must not happen twice. Raises ``OperationError`` if no client can be made."""
        at = (service, answer_within_s)
        if at not in self._made:
            with explained():
                self._made[at] = self._new(service, answer_within_s)
        return self._made[at]

    def close(self) -> None:
        for client in self._made.values():
            client.close()
        self._made.clear()

    def _new(self, service: str, answer_within_s: float | None) -> Any:
        import boto3  # not for a command that needs no account
        from botocore.config import Config

        if self._session is None:
            self._session = boto3.Session(region_name=self.region, profile_name=self.profile)
        config = (
            Config(connect_timeout=5, retries={"mode": "standard", "max_attempts": 3})
            if answer_within_s is None
            else Config(read_timeout=answer_within_s, retries={"total_max_attempts": 1})
        )
        return self._session.client(service, endpoint_url=self.endpoint_url, config=config)
