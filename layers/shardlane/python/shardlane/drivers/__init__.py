"""Who runs the handlers of a batch: one at a time, threads, or an event loop."""

from __future__ import annotations

from typing import Final

MOST_WORKERS: Final = 256
"""A Lambda sandbox may have 1,024 threads; beyond a few hundred they only wait for one another."""
