"""Kept answers: what plugins said of every node, so that an attempt costs only what has changed.

For speed only (ADR 0016): with this room switched off every decision is the same, and agreement
tests hold it to that. A plugin takes part by the protocols in `row_plugins`; it need not.
"""
