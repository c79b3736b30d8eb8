"""What never belongs into an asset: leftovers of running or installing Python beside the source.

They differ from machine to machine and so would change the asset's hash, and with it the
function, at every deployment.
"""

from __future__ import annotations

LEFTOVERS = [
    "**/__pycache__",
    "**/*.pyc",
    "**/*.egg-info",
    "**/.mypy_cache",
    "**/.ruff_cache",
    "**/.pytest_cache",
    "**/.DS_Store",
]
