"""Labels that a Policy prefers."""
