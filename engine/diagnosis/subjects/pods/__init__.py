"""Why a pod is as it is, apart from the nodes that refuse it: its group, its node, its kubelet."""
