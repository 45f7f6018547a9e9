"""The workload controllers: who makes pods, replaces them and cleans up behind them.

    actors ─▶ controllers, disruption, garbage_collector, namespace ─▶ controller ─▶ the store

They talk to each other through the store alone. `rules` holds what differs between versions.
Upstream: pkg/controller.
"""
