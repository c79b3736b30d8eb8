"""The frames of events, each made once for all consumers that are equally far in a shard."""

from __future__ import annotations

from collections.abc import Sequence

from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.subscription import SubscribeToShardEvent
from shardlane_lab.local_kinesis.wire import event_stream
from shardlane_lab.local_kinesis.wire.body import Codec

_Key = tuple[str, int, int, int]


class EventFrames:
    """Keeps what it made until ``forget``: one turn of the loop, in which a record that was just
    put goes to every consumer."""

    def __init__(self) -> None:
        self._made: dict[_Key, tuple[Sequence[StoredRecord], bytes]] = {}
        """The records are kept with their frame, so that no other record can be at their
        address."""

    def of(self, event: SubscribeToShardEvent, codec: Codec) -> bytes:
        records = event.records
        if not records or event.child_shards is not None:
            return _made(event, codec)
        key = (codec.content_type, id(records[0]), len(records), event.behind_ms)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = (records, _made(event, codec))
        return found[1]

    def forget(self) -> None:
        self._made.clear()


def _made(event: SubscribeToShardEvent, codec: Codec) -> bytes:
    payload = codec.event(event)
    return event_stream.event("SubscribeToShardEvent", payload, codec.content_type)
