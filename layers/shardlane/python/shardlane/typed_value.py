"""A record's data as a model: pydantic's, or anything with its ``model_validate_json``."""

from __future__ import annotations

from typing import Any, Protocol

from shardlane.errors import BadRecord
from shardlane.record import Record

MOST_ERRORS_SHOWN = 3


class Model(Protocol):
    """The part of a pydantic model class that is used."""

    def model_validate_json(self, json_data: bytes, /) -> Any: ...


def value_of(record: Record, model: Model) -> Any:
    """The data as ``model``. Raises ``BadRecord`` saying where it does not fit.

    The reason leaves out the input that pydantic repeats in its own message: a payload does not
    belong in a log.
    """
    try:
        return model.model_validate_json(record.data)
    except ValueError as error:
        name = getattr(model, "__name__", "model")
        raise BadRecord(f"data is no {name}: {_described(error)}") from error


def _described(error: ValueError) -> str:
    list_errors = getattr(error, "errors", None)
    if not callable(list_errors):
        return type(error).__name__
    errors = list_errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(str(each) for each in one['loc']) or 'data'}: {one['type']}"
        for one in errors[:MOST_ERRORS_SHOWN]
    ]
    more = len(errors) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
