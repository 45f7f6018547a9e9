"""Measurements, each beside a baseline of the same run: `python -m bench [NAME…]`."""
