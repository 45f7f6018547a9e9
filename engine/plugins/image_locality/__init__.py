"""Nodes that already have the images."""
