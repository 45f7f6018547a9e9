"""The controllers that remove pods, and disruption budgets: lost nodes, taints, leftover pods.

Upstream: pkg/controller/{disruption,nodelifecycle,tainteviction,podgc}.
"""
