"""The scheduler's assumptions about claims and volumes, and how they are bound.

    pod_binding ─▶ binder ─▶ assume_cache

The scheduler's VolumeBinding plugin decides which volume a claim gets on which node.
Upstream: pkg/scheduler/framework/plugins/volumebinding/{binder,assume_cache}.go.
"""
