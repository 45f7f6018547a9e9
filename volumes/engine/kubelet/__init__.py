"""The kubelet: what happens on a node from a pod's binding to its end."""
