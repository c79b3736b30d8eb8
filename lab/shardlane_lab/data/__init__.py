"""Data that the lab compares with; see ``shardlane_lab.published``."""
