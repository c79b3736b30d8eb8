"""The event behind a call of ``process_partial_response``, which hands over its records only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from shardlane.errors import BadEvent

_DEPTH = 3
"""``refuse_tumbling_window`` < the processor's ``__call__`` < ``process_partial_response``; one
more for a subclass that calls ``super()``."""


def refuse_tumbling_window(entries: Sequence[Any]) -> None:
    """Raises ``BadEvent`` if ``entries`` are those of a tumbling window.

    Such an invocation must return the ``state`` that it folded, in order (AWS Lambda developer
    guide, "Tumbling windows"). A processor answers with identifiers only, so the service would
    count every invocation as failed without a word. Powertools passes a processor the records and
    not the event; the event is found in the calling frames, where it is the local variable
    ``event`` whose ``Records`` are these very entries. Not found: nothing is checked.
    """
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame.f_back is None:
            return
        frame = frame.f_back
        event = frame.f_locals.get("event")
        if isinstance(event, dict) and event.get("Records") is entries:
            if "window" in event:
                raise BadEvent(
                    "the mapping has a tumbling window, which folds a state in order; "
                    "KeyedBatchProcessor runs keys at the same time and returns no state. "
                    "Set TumblingWindowInSeconds to 0, or handle the batch without it"
                )
            return
