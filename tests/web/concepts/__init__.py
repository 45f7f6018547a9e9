"""What docs/concepts.md says of runs."""
