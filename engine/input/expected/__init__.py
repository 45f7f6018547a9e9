"""What a scenario expects of its run, as its header says: `spec.expect`."""
