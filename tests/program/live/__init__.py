"""A cluster that is read: runs of ours serve as the cluster, behind a proxy that is strict."""
