"""Everything put together: a scenario becomes a cluster of schedulers, controllers and kubelets.

`cluster.Cluster` is the engine that `kscope.runs` drives; `commands` is what a user may do to it,
`faults` what may go wrong in it, `replicas` the leader election of schedulers.
"""
