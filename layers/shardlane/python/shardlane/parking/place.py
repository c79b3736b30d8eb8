"""How keys and places are written in a parking table."""

from __future__ import annotations

import hashlib

SEQUENCE_DIGITS = 129
"""A sequence number is at most 128 bits of hash space and more today (56 digits); the KCL's own
limit for its text form is 129 characters."""
SUB_SEQUENCE_DIGITS = 10


def key_hash(partition_key: str) -> str:
    """Hex SHA-256: a key has any characters and up to 1,024 bytes, this has neither."""
    return hashlib.sha256(partition_key.encode("utf-8", "surrogatepass")).hexdigest()


def place_of(sequence_number: str, sub_sequence_number: int) -> str:
    """A text that sorts as (sequence number, sub-sequence) sort as integers."""
    sequence = sequence_number.zfill(SEQUENCE_DIGITS)
    return f"{sequence}#{sub_sequence_number:0{SUB_SEQUENCE_DIGITS}}"
