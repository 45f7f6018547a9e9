"""What the API server would refuse in a manifest.

The types of all fields are checked by the OpenAPI definitions (`openapi`, beside this package).
Rules say what else must hold of the fields that the engines read: they are plain functions of
(value, path, report), composed into one tree for each kind. To check a field of a kind, add it to
that kind's rule in `kinds` or in the module of its part.

    manifests ─▶ kinds ─▶ workloads, pods, storage, devices, quotas ─▶ shared ─▶ rules ─▶ report
"""
