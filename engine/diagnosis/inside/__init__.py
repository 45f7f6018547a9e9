"""What goes on inside the components that look after a claim, a pod's volumes or a node's.

    components ─write─▶ trace.VolumesTrace ─▶ steps ─▶ answer.VolumesInside

`trace` says which objects it follows, and reads the caches beside each step; `steps` puts together
the entries of one sync or one tick; `upstream` knows which function of which version does it.
docs/inside.md describes the answer.
"""
