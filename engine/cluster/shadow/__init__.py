"""Shadow writes: what a controller of this run would have written where a client's has written.

write of a client ─▶ suspects ─▶ Planner (a trial on a copy) ─▶ compared ─▶ ShadowWrites ─▶ event

    suspects: whose write it may be       planned: what one write says, and in what two differ
    planner: what a controller would write as the cluster is, and as it was a moment before
    shadow_writes: the verdicts, and the event ShadowWrite of each
"""
