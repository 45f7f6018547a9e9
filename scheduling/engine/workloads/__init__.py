"""The workload controllers: they create pods, replace them and clean up after them.

    actors ─▶ controllers, disruption, garbage_collector, namespace ─▶ controller ─▶ the store

They communicate only through the store. `rules` has the differences between versions.
Upstream: pkg/controller.
"""
