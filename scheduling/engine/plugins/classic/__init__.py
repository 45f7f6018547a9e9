"""Predicates and priorities of v1.16 and before: scores of 0 to 10, one failed predicate ends a node.

Upstream: pkg/scheduler/algorithm at v1.16.
"""
