"""A run in virtual time: the service's model, the product's own code, and loops like the bare ones.

``run.SimulatedRun`` puts it together; ``sender``, ``bare_poller``, ``bare_subscriber``, ``library``
and ``function`` are who sends and reads. The fast event model of ``shardlane_lab.simulator`` is
another program for the same mechanism, and a test holds the two together.
"""
