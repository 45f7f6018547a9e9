"""What the PV controller tells a trace: its syncs, the branch each took, its writes.

`branches` draws each function of upstream as a tree of lines; code that decides names the line where
it ended, with what it read on the way. `told` has what is told; see `engine.kernel.trace`.
"""
