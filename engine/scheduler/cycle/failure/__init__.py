"""What happens to a pod that got no node: its Event, its condition, its nomination, preemption.

    FailureHandler ─▶ Evictions ─▶ PodStatusWriter ─▶ API server

The scheduling cycle and the binding cycle call the handler. Upstream: schedule_one.go
handleSchedulingFailure(), framework/preemption.
"""
