"""What hosting many runs in a few processes costs."""
