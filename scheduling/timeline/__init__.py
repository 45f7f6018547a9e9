"""The timeline of a stored run: its events read once into a trace, from which each answer is drawn."""
