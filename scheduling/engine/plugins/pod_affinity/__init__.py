"""What InterPodAffinity is made of.

`terms` finds the affinity terms that apply to a pod, `domains` counts pods per value of a topology
label. The plugin, with the filter and the score, is `plugins/inter_pod_affinity.py`.

Upstream: plugins/interpodaffinity/{filtering,scoring}.go.
"""
