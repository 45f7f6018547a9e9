"""What a kubelet tells a trace of its volumes: each round of its loops, each end of an operation."""
