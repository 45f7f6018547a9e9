"""The steps of a kubelet with its volumes: each round of its loops, each end of an operation."""
