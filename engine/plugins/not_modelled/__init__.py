"""Pods that need what kscope does not model."""
