"""The same score for all nodes."""
