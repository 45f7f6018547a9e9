"""One module for each kind that makes pods, or claims for pods. Upstream: pkg/controller/<kind>."""
