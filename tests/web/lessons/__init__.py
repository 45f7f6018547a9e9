"""Lessons as pages and REST serve them."""
