"""Labels that a Policy asks for."""
