"""What is stuck and not pending: refused, placed, claimed, leaving, or on a broken node."""
