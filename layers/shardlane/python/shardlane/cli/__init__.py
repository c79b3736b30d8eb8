"""The command line ``shardlane``: what is stuck, why, and how to set it going again."""
