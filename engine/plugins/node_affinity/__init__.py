"""The nodes that a pod selects, and those that it prefers."""
