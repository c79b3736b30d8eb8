"""A run on AWS: against the deployed stacks, with consumers here and the load from here or from
inside the region. ``run.AwsRun`` is its course."""
