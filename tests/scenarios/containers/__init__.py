"""Containers that follow a script: restarts, probes, Jobs, rollouts."""
