"""The controllers that remove pods, and disruption budgets.

`node_lifecycle` puts taints on nodes by their conditions, `taint_manager` evicts pods by taint, and
`node_eviction` does both in v1.11. `pod_gc` deletes leftover pods. `disruption` keeps the status of
budgets, which `budget_count` computes.

Upstream: pkg/controller/{disruption,nodelifecycle,tainteviction,podgc}.
"""
