"""Pods that no scheduler places: what holds them, in groups, and the changes that place them."""
