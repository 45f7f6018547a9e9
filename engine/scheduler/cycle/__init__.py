"""What a scheduler does with one pod: take it from the queue, decide, reserve, bind; or refuse it.

    scheduler ─▶ algorithm (filter, score, choose, preempt) ─▶ extension points ─▶ binding
        └─ chronicle records every step; explain puts codes into words

`decisions` runs the same algorithm on a snapshot, without time.
Upstream: pkg/scheduler/{scheduler,schedule_one}.go.
"""
