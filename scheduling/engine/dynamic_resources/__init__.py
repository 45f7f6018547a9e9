"""Dynamic resource allocation: which devices a pod's resource claims get on a node.

`devices` reads what drivers publish, `requests` what claims ask for, `claims` which claims a pod
has; `pools`, `selectors`, `constraints`, `capacity` and `counters` each hold one rule of the search
in `allocator`. `extended` makes claims of extended resources. `plugin` is the scheduler's plugin
DynamicResources. Upstream: staging/src/k8s.io/dynamic-resource-allocation (v0.36),
pkg/scheduler/framework/plugins/dynamicresources.
"""
