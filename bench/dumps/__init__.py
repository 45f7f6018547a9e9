"""Dumps of the size of a real cluster: how they are made, and how they are read."""
