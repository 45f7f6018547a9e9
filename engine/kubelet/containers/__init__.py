"""Containers that follow a script: started in order, probed, ended, and started again.

    player ─▶ probing
        └───▶ statuses, restarts ─▶ state

Pods about which no entry says anything are left to pod_workers. Upstream: pkg/kubelet/kuberuntime.
"""
