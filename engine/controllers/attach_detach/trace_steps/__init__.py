"""The steps of the attach/detach controller, for each node."""
