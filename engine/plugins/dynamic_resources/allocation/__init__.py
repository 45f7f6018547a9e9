"""Dynamic resource allocation: which devices a pod's resource claims get on a node.

`devices` reads what drivers publish, `requests` what claims ask for, `claims` which claims a pod
has, and `extended` makes claims of extended resources. `selectors` evaluates expressions, with the
functions of `engine.objects.cel`. The room `search` looks for devices on one node, `allocated_devices`
counts what is taken, and `binding_conditions` says whether drivers have made devices ready. The
plugin of the scheduler is `engine.plugins.dynamic_resources`.

Upstream: staging/src/k8s.io/dynamic-resource-allocation (v0.36).
"""
