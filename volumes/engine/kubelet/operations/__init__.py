"""Volume operations on a node: one at a time per volume, with backoff, in steps on the loop."""
