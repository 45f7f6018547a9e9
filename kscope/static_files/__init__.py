"""Static files: where they come from, how they are served, and their version."""
