"""What the API server does to objects where decisions depend on it.

Defaults, admission (RuntimeClass, PriorityClass, LimitRange …), quotas (`quota`), evictions under
disruption budgets, and the check of a scenario's first objects.
"""
