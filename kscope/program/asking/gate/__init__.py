"""Holds scenarios against what they expect, and reports what does not hold."""
