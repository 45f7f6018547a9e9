"""Parts of a scenario that no run depends on: what pages tell of it, and what is expected of its end."""
