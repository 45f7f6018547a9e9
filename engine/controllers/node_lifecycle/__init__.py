"""What happens to the pods of a node that is tainted, not ready or silent.

Upstream: pkg/controller/{nodelifecycle,tainteviction}.
"""
