"""`/concepts/`: what things are, and the instant of a demo that shows each (docs/concepts.md)."""
