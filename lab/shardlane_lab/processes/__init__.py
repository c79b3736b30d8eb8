"""The producer and the boto3 consumers of a run: each a process of its own, as in the published
measurement, so that none waits for another's interpreter lock. `child` is what they share,
`parent` is the run's side."""
