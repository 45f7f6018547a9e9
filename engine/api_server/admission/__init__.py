"""What the API server does to objects where decisions depend on it.

What every write passes (`strategy`), whoever writes, and how far each may go (`permissions`);
defaults, admission (RuntimeClass, PriorityClass, LimitRange …), quotas (`quota`), evictions under
disruption budgets, and the check of a scenario's first objects.
"""
