"""What goes on inside the components that look after a claim, a pod's volumes or a node's.

    components ─tell─▶ trace.VolumesTrace ─▶ steps ─▶ answer.VolumesTold

`trace` says whom it follows and reads the caches beside what it is told; `steps` puts together what
was told of one sync or one tick; `upstream` knows which function of which version does it.
docs/inside.md describes the answer.
"""
