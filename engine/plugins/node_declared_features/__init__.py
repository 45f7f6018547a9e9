"""Features that the kubelet of a node declares."""
