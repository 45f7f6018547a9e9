"""What takes pods away: lost nodes, taints, disruption budgets, and pods left behind.

Upstream: pkg/controller/{disruption,nodelifecycle,tainteviction,podgc}.
"""
