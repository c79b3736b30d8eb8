"""What shardlane raises.

ShardlaneError
├── SettingsError      a setting is missing or not allowed (also a ValueError)
├── BadEvent           the invocation's event is not a batch that we can process (also a ValueError)
├── BadRecord          one record cannot be read; it fails alone (also a ValueError)
└── ParkingError       the parking lot cannot be used as it is set up
    ├── StoreUnavailable   not now: throttled, in conflict, timed out; it may have happened
    ├── PayloadTooLarge    a record does not fit into the table and there is no bucket
    └── RedriveRefused     a redrive that does not hold its key, or not for long enough

``outcome.Drop`` and ``outcome.Park`` are not errors: a handler raises them to say what is to
become of its record.
"""

from __future__ import annotations


class ShardlaneError(Exception):
    """The root of everything that shardlane raises on its own account."""


class SettingsError(ShardlaneError, ValueError):
    """A setting is missing or has a value that is not allowed; the message names both."""


class BadEvent(ShardlaneError, ValueError):
    """The whole event is unusable. Nothing was started; the invocation fails with this error."""


class BadRecord(ShardlaneError, ValueError):
    """One record is unusable. The message never contains its payload or its key."""


class ParkingError(ShardlaneError):
    """The parking lot's table, bucket or permissions are not what they should be."""


class StoreUnavailable(ParkingError):
    """A call of the parking store did not get through or did not come back.

    Repeat the same call: every write is conditional, so one that has happened already shows.
    """


class PayloadTooLarge(ParkingError):
    """The record is above what a table item may hold, and the lot has no bucket."""


class RedriveRefused(ParkingError):
    """The processor does not run a redriven record whose key the redriver does not hold."""
