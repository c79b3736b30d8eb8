"""Tags of streams and consumers."""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call

_LISTED_TAGS = 50


def checked_tags(call: Call, present: dict[str, str], added: dict[str, str]) -> dict[str, str]:
    """``present`` and ``added`` together.

    Raises ``InvalidArgumentException`` over the limit of tags or for a reserved key.
    """
    tags = present | added
    reserved = [key for key in added if key.lower().startswith("aws:")]
    if reserved:
        raise errors.invalid_argument(f"Tag keys starting with aws: are reserved: {reserved[0]}.")
    limit = call.account.limits.tags_per_resource
    if limit is not None and len(tags) > limit:
        raise errors.invalid_argument(
            f"Failed to add tags: the resource would have {len(tags)} tags and may have {limit}."
        )
    return tags


def add_tags_to_stream(call: Call) -> dict[str, Any]:
    stream = call.account.stream(call.request, call.now_ms)
    stream.settings.tags = checked_tags(call, stream.settings.tags, call.request["Tags"])
    return {}


def remove_tags_from_stream(call: Call) -> dict[str, Any]:
    stream = call.account.stream(call.request, call.now_ms)
    for key in call.request["TagKeys"]:
        stream.settings.tags.pop(key, None)
    return {}


def list_tags_for_stream(call: Call) -> dict[str, Any]:
    stream = call.account.stream(call.request, call.now_ms)
    after = call.request.get("ExclusiveStartTagKey", "")
    limit = call.request.get("Limit", _LISTED_TAGS)
    keys = [key for key in sorted(stream.settings.tags) if key > after]
    return {
        "Tags": [{"Key": key, "Value": stream.settings.tags[key]} for key in keys[:limit]],
        "HasMoreTags": len(keys) > limit,
    }


def tag_resource(call: Call) -> dict[str, Any]:
    tags = _resource_tags(call)
    tags.update(checked_tags(call, tags, call.request["Tags"]))
    return {}


def untag_resource(call: Call) -> dict[str, Any]:
    tags = _resource_tags(call)
    for key in call.request["TagKeys"]:
        tags.pop(key, None)
    return {}


def list_tags_for_resource(call: Call) -> dict[str, Any]:
    tags = _resource_tags(call)
    return {"Tags": [{"Key": key, "Value": tags[key]} for key in sorted(tags)]}


def _resource_tags(call: Call) -> dict[str, str]:
    """Of the stream or consumer that ``ResourceARN`` names."""
    arn = call.request["ResourceARN"]
    if "/consumer/" in arn:
        return call.account.consumer({"ConsumerARN": arn}, call.now_ms)[1].tags
    return call.account.stream({"StreamARN": arn}, call.now_ms).settings.tags
