"""What the API server would refuse in a manifest, for every field that the engines read.

Rules are plain functions of (value, path, report), composed into one tree for each kind. Fields
that no engine reads are not looked at: a file from a newer cluster must load. To check a field of
a kind, add it to that kind's rule in `kinds` or in the module of its part.

    manifests ─▶ kinds ─▶ workloads, pods, storage, devices, quotas ─▶ shared ─▶ rules ─▶ report
"""
