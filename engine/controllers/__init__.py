"""The controllers of the control plane. They communicate only through the store.

    actors ─▶ workloads, node_lifecycle, disruption, garbage_collection ─▶ shared
    persistent_volumes, attach_detach, expansion, protection

Upstream: pkg/controller, cmd/kube-controller-manager.
"""
