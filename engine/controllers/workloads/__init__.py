"""One module for each kind that creates pods, or their claims. Upstream: pkg/controller/<kind>."""
