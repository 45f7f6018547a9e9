"""The scheduling queue: where a pod waits, and what moves it on.

    scheduling_queue ─▶ active ─▶ (an attempt) ─▶ backoff or unschedulable ─▶ active
                                    `events` and `hints` say which change moves which pod

`rules` holds what differs between versions. Upstream: pkg/scheduler/backend/queue.
"""
