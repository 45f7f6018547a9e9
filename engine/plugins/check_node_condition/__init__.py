"""Conditions of nodes, before they became taints."""
