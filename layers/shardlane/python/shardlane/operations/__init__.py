"""What the command line and the scheduled redrive decide: facts in, findings out."""
