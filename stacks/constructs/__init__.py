"""CDK constructs for consumers of Kinesis data streams (``pip install shardlane[cdk]``).

The public names are those in ``__all__``; what is not listed may change.
"""

from __future__ import annotations

from .consumer_alarms import AlarmProps, ConsumerAlarms, StreamAlarms, Watched
from .keyed_consumer import KeyedConsumer
from .mapping_props import MappingProps
from .on_failure import OnFailureBucket, OnFailureQueue
from .parking_lot import LotPart, ParkingLot
from .policy import Policy

__all__ = [
    "AlarmProps",
    "ConsumerAlarms",
    "KeyedConsumer",
    "LotPart",
    "MappingProps",
    "OnFailureBucket",
    "OnFailureQueue",
    "ParkingLot",
    "Policy",
    "StreamAlarms",
    "Watched",
]
