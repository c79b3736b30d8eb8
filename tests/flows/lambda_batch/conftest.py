from __future__ import annotations

from tests.unit.shardlane.parking.table_fixtures import credentials, dynamodb, one_dynamodb

__all__ = ["credentials", "dynamodb", "one_dynamodb"]
