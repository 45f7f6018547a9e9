"""Nodes that ask to be avoided."""
