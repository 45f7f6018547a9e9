"""Pods that want to be near others, or far from them.

`terms` finds the affinity terms that apply to a pod, `domains` counts pods per value of a topology
label. `predicate` and `joint_predicate` are the filter before v1.18, `priority` the score.

Upstream: plugins/interpodaffinity/{filtering,scoring}.go.
"""
