"""Preemption: which pods of lower priority to evict so that a pod finds room, and on which node.

    preemption ─▶ victims (dry runs on many nodes at once), budgets, room_verdicts (what is kept)

Upstream: pkg/scheduler/framework/preemption and plugins/defaultpreemption.
"""
