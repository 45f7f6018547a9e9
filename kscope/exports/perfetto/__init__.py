"""A run as a trace for ui.perfetto.dev: components as processes, pods and claims as tracks."""
