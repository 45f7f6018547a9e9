"""Volume plugins: what a driver can do with a volume, and the simulated drivers of every node.

The kubelet and the attach/detach controller call the same plugins. Upstream: pkg/volume.
"""
