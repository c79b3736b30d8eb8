"""The local Lambda: the real handler in the real runtime client, and event source mappings with
the service's rules."""
