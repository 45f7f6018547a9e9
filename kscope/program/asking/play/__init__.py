"""Plays a scenario, and says what became of its pods."""
