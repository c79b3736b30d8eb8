"""Where records wait that cannot be processed, and how their key gets moving again.

A key whose record was parked is quarantined: its later records are parked behind it, in order,
until a redrive has handled all of them. Every condition of the protocol is in ``store``.
"""
