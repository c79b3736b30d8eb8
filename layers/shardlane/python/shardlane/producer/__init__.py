"""Writes to a stream with PutRecords: in full requests, in the order of each key, and without
losing sight of the entries that failed.

The public names are those in ``__all__``; what is not listed may change.
"""

from __future__ import annotations

from shardlane.producer.outgoing import Acknowledged, Outgoing, Unsent
from shardlane.producer.producer import Producer, Report

__all__ = ["Acknowledged", "Outgoing", "Producer", "Report", "Unsent"]
