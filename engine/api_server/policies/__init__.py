"""Admission policies that a run holds: which writes they match, and what they say of them (ADR 0062)."""
