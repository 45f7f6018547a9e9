"""The objects of a run at one instant, now or in its past, and the connections to read them."""
