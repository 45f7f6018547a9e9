"""Operating kscope: is it well, what does it do, what does it keep, how is it saved and restored.

Stands above the rooms of runs, volumes and scheduling, whose tables it reads; nothing imports it
but the wiring (`kscope.urls`, `kscope.asgi`, `kscope.celery`). See docs/operations.md.

    presence   every process says every few seconds that it lives, and what it has counted
    health     /healthz and /readyz
    metrics    /metrics: what all processes counted, and what the tables say now
    overview   the page of workers, leases and queues
    retention  what may be deleted or thinned out, if that is configured
    backup     saving the database to a file, and restoring it
"""
