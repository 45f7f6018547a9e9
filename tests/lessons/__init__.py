"""The lessons of lessons/, played."""
