"""What files do not hold and their objects rest on: placeholders for it, and open questions."""
