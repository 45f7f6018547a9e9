"""A run as OpenMetrics, with the names, labels and buckets of upstream's metrics, over virtual time."""
