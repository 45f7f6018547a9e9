"""What the attach/detach controller tells a trace, of each node."""
