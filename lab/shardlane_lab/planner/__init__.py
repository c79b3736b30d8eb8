"""Which way of reading a stream, at what latency and price: ``plan.plan`` answers a ``Question``.

The latencies come from the simulator, the costs from a dated price table, the rest is arithmetic.
"""
