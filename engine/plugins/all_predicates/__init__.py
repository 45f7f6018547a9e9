"""All predicates on every node, where a Policy asks for it."""
