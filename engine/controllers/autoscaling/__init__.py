"""HorizontalPodAutoscalers: they change the replicas of workloads. Upstream: pkg/controller/podautoscaler.

    controller ─▶ targets      what is scaled, and how many replicas it has
               ├▶ metrics      what is asked for, or why nothing is
               ├▶ limits       how much of that is allowed, without spec.behavior
               ├▶ behavior     the same, with it
               └▶ status

`history` keeps what an autoscaler has recommended and done.
"""
