"""Pods that have a node and do not run there: their groups, and what explains each."""
