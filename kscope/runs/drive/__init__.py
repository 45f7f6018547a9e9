"""Driving a run: a worker owns it under a lease, computes slices of it and commits each one.

    runner ─▶ driver ─▶ committer ─▶ writer (thread or process) ─▶ slices ─▶ PostgreSQL
       │                                                       └── now and then a checkpoint
       └─ engines ─▶ replay: back to a recorded position; forks: a replay that ends in a new run

Celery tasks and tests start it; pages never do. docs/architecture.md, "A run".
"""
