"""The steps of the PV controller: its syncs, the branch each took, its writes.

`branches` draws each function of upstream as a tree of lines; code that decides names the line where
it ended, with what it read on the way. `syncs` has the steps; see `engine.kernel.trace`.
"""
