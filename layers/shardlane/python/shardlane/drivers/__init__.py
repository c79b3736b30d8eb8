"""Who runs the handlers of a batch: one at a time, threads, or an event loop."""
