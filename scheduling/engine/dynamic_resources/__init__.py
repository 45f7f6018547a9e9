"""Dynamic resource allocation: which devices a pod's resource claims get on a node.

`devices` reads what drivers publish, `requests` what claims ask for, `claims` which claims a pod
has; `pools`, `selectors`, `constraints`, `capacity` and `counters` each hold one rule of the search
in `allocator`. `extended` makes claims of extended resources, `allocations` writes what was found
into a claim's status, `obstacles` says what is against each device. `cel_functions` are the
functions that expressions may call. `plugin` is the scheduler's plugin DynamicResources. Upstream:
staging/src/k8s.io/dynamic-resource-allocation (v0.36), pkg/scheduler/framework/plugins/
dynamicresources.
"""
