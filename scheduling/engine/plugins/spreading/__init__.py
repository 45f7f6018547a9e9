"""What PodTopologySpread is made of.

`constraints` finds the constraints of a pod, `domains` the nodes that a constraint counts and the
matching pods in each domain, `scores` the score of a node by its soft constraints. The plugin,
with the filter, is `plugins/pod_topology_spread.py`.

Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go.
"""
