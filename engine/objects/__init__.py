"""API objects: manifests as they are read, checked, summed up and drawn.

A manifest is never changed in place (ADR 0003). `validation` refuses what the API server would
refuse; `pod_resources` is the one sum of what a pod requests; `projection` is what pages draw.
`documents` reads YAML and JSON; `kinds` says what kinds are called.
"""
