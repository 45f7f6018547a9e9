"""kube-scheduler: its configuration, its queue, one pod after the other, and preemption.

cycle ─▶ pod_groups, preemption, queue          configuration: from a file to profiles
"""
