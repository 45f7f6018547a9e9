"""The scheduler's picture of the cluster: its cache, the table of nodes, and its listers.

    watch ─▶ cache (assumed and confirmed pods) ─▶ table_feed ─▶ node_table ─▶ plugins
             node_table = columns of requests + node_labels + pod_counts + images + ports

Upstream: pkg/scheduler/backend/cache.
"""
