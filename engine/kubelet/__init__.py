"""The kubelets: what happens on a node from a pod's binding to its end.

    kubelets ─▶ pod_workers ─▶ admission, pod_status
        │            └───────▶ volume_manager (mounts, one per node)
        └─────▶ node_status

`kubelets` watches nodes and pods, and takes the commands that stop and start machines.
Upstream: pkg/kubelet.
"""
