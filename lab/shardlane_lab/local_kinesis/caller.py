"""Who calls: the service treats Lambda's poller differently from a client of the API."""

from __future__ import annotations

from enum import Enum


class Caller(Enum):
    API = "api"
    """An SDK client."""
    EVENT_SOURCE_MAPPING = "event-source-mapping"
    """Lambda's poller: its GetRecords calls count against the shard's rate but are not refused
    (the best fit to the published measurement), and its pushes arrive without a client's share
    of the delay."""
