"""Why one object is in its state: `answer` for files that stand, `at_instant` for a run."""
