"""The simulated API server: the object store with its watches, and what its clients share.

    store ─▶ informer (one component's own, possibly stale, copy) ─▶ workqueue

The store keeps the objects. `object_limit` counts them, `answers` says when a write is answered,
`write_record` makes an event of it, and `watches` deliver it. `process` ends all that a component
has when it dies; `faults` is what the API server may get wrong.
"""
