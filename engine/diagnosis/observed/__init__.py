"""What the files of a cluster say was observed in it, kept apart from what is simulated."""
