"""Everything that a write passes, whoever makes it.

validation ─▶ admission (defaults, quotas, evictions, binding) ─▶ store (and its watches)
"""
