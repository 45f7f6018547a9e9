"""Formats that are no manifests and become some: watches, scheduler_perf cases, configurations."""
