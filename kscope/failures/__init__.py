"""What a client sees when a request cannot be served, and what is written of it."""
