"""Watches: what changed after a version, read once for all watchers of a run."""
