"""Reads what is asked about: files, objects by name, and what narrows the answer."""
