"""Checks: whether what one part of a cluster holds agrees with what another part holds.

Each check but `determinism`, which runs a scenario twice, is a module with a function that takes a `Cluster` and returns sentences about what does
not agree. They change nothing, and hold at every instant between two callbacks. Tests run them
where a run ends, `manage.py check_run` for a user.
"""
