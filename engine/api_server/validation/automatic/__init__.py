"""Rules for what makes or changes workloads by itself."""
