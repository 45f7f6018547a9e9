"""Writes: what a client wants becomes commands of the run, and their outcome its answer."""
