"""Jobs: pods that run to completion. Upstream: pkg/controller/job.

    base ─▶ counting   counts the pods that exist (profiles up to v1.34)
         └▶ tracking   holds each pod by a finalizer until the status has counted it (since v1.35)
            marked     counts the pods of plain Jobs, tracks those of marked ones (v1.34)

`tracking` uses `progress` for one look at a job, `status` for its writes, `failure_policy`, `backoff`
and `indexes` for the rules. `engine/input/header/job_marks.py` says which Jobs are marked.
"""
