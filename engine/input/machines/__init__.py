"""Nodes for those who have none: a catalogue of instance types, and the nodes that people ask for."""
