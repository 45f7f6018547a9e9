"""Pods spread over domains.

`constraints` finds the constraints of a pod, `domains` the nodes that a constraint counts and the
matching pods in each domain, `scores` the score of a node by its soft constraints.

Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go.
"""
