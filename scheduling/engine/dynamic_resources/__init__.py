"""Dynamic resource allocation: which devices a pod's resource claims get on a node.

`devices` reads what drivers publish, `requests` what claims ask for, `claims` which claims a pod
has, and `extended` makes claims of extended resources. `selectors` evaluates expressions, with the
functions of `cel_functions`. The room `search` looks for devices on one node. `allocated_devices`
counts what is taken, and `kept_searches` keeps the results from pod to pod. `plugin` is the
scheduler's plugin DynamicResources: `pod_reader` prepares each cycle, `prepared` is what it knows.
`allocations` writes what was found into a claim's status, and `binding_conditions` says whether
drivers have made its devices ready. Upstream:
staging/src/k8s.io/dynamic-resource-allocation (v0.36),
pkg/scheduler/framework/plugins/dynamicresources.
"""
