"""The scheduler's picture of the cluster: its cache, the table of nodes, and its listers.

    watch ─▶ cache (assumed and confirmed pods) ─▶ node_table (columns) ─▶ plugins
                 └─ comparer checks it against the store

Upstream: pkg/scheduler/backend/cache.
"""
