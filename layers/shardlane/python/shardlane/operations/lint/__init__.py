"""``shardlane lint``: settings of Kinesis consumers that bite later, found before they do."""
