"""The CDK's way to have ``pip_install`` fill a layer while it synthesizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsii
from aws_cdk import ILocalBundling

from .pip_install import clean, install


@jsii.implements(ILocalBundling)
class PipBundle:
    """Installs a requirements file into the ``python`` folder of a layer."""

    def __init__(self, requirements: Path) -> None:
        self._requirements = requirements

    def try_bundle(self, output_dir: str, _options: Any = None, **_more: Any) -> bool:
        """Always ``True`` or ``BundleError``: ``False`` would make the CDK ask for Docker and hide
        why pip failed."""
        target = Path(output_dir) / "python"
        install(self._requirements, target)
        clean(target)
        return True
