"""How queue and preemption differ between versions, as data."""
