"""Predicates and priorities of v1.16 and before: scores of 0 to 10, one failed predicate ends a node.

`classic_predicates` and `classic_priorities` run by default, the `optional_` ones if a Policy names
them. `pod_affinity_predicate`, its form of v1.11 (`joint_pod_affinity`) and `volume_counts` have
modules of their own; `all_predicates` runs every predicate on every node.

Upstream: pkg/scheduler/algorithm at v1.16.
"""
