"""One pod's way through a scheduler: taken from the queue, decided, reserved, bound; or refused.

    scheduler ─▶ algorithm (filter, score, choose, preempt) ─▶ extension points ─▶ binding
        └─ chronicle records every step; explain puts codes into words

`decisions` runs the same algorithm on a snapshot, without time.
Upstream: pkg/scheduler/{scheduler,schedule_one}.go.
"""
