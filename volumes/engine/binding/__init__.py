"""The scheduler's assumptions about claims and volumes, and how they are bound.

    pod_binding ─▶ binder ─▶ assume_cache

Which volume a claim gets on which node is decided by the scheduler's VolumeBinding plugin.
Upstream: pkg/scheduler/framework/plugins/volumebinding/{binder,assume_cache}.go.
"""
