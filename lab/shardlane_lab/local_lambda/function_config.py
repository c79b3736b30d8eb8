"""What a function needs to run: read from the template, or written by hand in a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOCAL_ACCOUNT = "000000000000"
"""The account in every ARN here: no real account has it."""
LOCAL_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionConfig:
    """One Lambda function. Folders must exist; limits are the service's (Lambda quotas)."""

    name: str
    handler: str
    """``module.function``."""
    code_folder: Path
    layer_folders: tuple[Path, ...] = ()
    """In the template's order; a later one lies over an earlier one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 3.0
    memory_mb: int = 128
    runtime: str = "python3.13"
    """What the template asks for. The code runs in the interpreter that runs the lab."""
    reserved_concurrency: int | None = None
    log_group: str | None = None
    """The template's log group; ``None`` is the service's ``/aws/lambda/NAME``."""
    role_arn: str | None = None
    region: str = LOCAL_REGION
    account: str = LOCAL_ACCOUNT

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s <= 900:
            raise ValueError(f"{self.name}: timeout_s is {self.timeout_s}, allowed: up to 900")
        if not 128 <= self.memory_mb <= 10_240:
            raise ValueError(f"{self.name}: memory_mb is {self.memory_mb}, allowed: 128 to 10240")
        for folder in (self.code_folder, *self.layer_folders):
            if not folder.is_dir():
                raise ValueError(f"{self.name}: {folder} is not a folder")

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name}"

    @property
    def identity_arn(self) -> str:
        """The role that invokes: the event's ``invokeIdentityArn``."""
        return self.role_arn or f"arn:aws:iam::{self.account}:role/{self.name}"

    @property
    def log_group_name(self) -> str:
        return self.log_group or f"/aws/lambda/{self.name}"
