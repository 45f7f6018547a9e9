"""Nodes whose resources are used to the same degree."""
