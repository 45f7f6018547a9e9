"""Pods that name their node."""
