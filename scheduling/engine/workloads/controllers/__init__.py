"""One module for each kind that creates pods, or claims for pods. Upstream: pkg/controller/<kind>."""
