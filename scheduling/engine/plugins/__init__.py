"""The in-tree plugins, one module each."""
