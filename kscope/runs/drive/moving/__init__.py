"""How a driver moves its engine on: by the clock, by steps, to a decision, and by commands."""
