"""Pods that wait for their gates."""
