"""What an operation cannot do, in one line for the person who asked for it.

ShardlaneError
└── OperationError      the account, a name, a permission or an input is not what is needed
"""

from __future__ import annotations

from shardlane.errors import ShardlaneError


class OperationError(ShardlaneError):
    """Names the thing, and what would be allowed or what to do about it."""
