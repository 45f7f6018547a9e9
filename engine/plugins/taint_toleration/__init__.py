"""Taints of nodes, and tolerations of pods."""
