"""Driving a run: a worker owns it under a lease, computes slices of it and commits each one.

    runner ─▶ slices ─▶ committer ─▶ writer (thread or process) ─▶ PostgreSQL
       │                                        └── now and then a checkpoint
       └─ replay: the way back to a recorded position; forks: a replay that ends in a new run

Celery tasks and tests start it; pages never do. docs/architecture.md, "A run".
"""
