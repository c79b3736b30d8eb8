"""A fast event model of one stream and its readers, in virtual time.

``model.simulate_shard`` runs one shard, ``model.simulate_stream`` several; ``run.simulate`` turns
an experiment into the files that every target writes; ``validate`` compares the model with the
published measurement.
"""
