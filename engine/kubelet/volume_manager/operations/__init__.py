"""The operations of a kubelet on volumes: attach, mount, unmount, expand and detach.

    executor ─▶ mount ─▶ pod_volume ─┐
        └─────▶ unmount ─────────────┴─▶ base

Upstream: pkg/volume/util/operationexecutor.
"""
