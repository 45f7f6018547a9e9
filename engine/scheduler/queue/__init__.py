"""The scheduling queue: where a pod waits, and what moves it on.

    scheduling_queue ─▶ active ─▶ (an attempt) ─▶ backoff or unschedulable ─▶ active
                                    `events` and `hints` say which change moves which pod

`places` holds the pods and moves them; `event_moves` chooses the pods that an event concerns, and
`requeueing` asks their hints; `pod_updates` takes newer versions; `flush_times` says when the
flushes are due. `rules` holds what differs between versions. Upstream: pkg/scheduler/backend/queue.
"""
