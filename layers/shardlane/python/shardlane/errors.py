"""What shardlane raises.

ShardlaneError
├── SettingsError      a setting is missing or not allowed (also a ValueError)
├── BadEvent           the invocation's event is not a batch that we can process (also a ValueError)
└── BadRecord          one record cannot be read; it fails alone (also a ValueError)

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
