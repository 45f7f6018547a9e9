"""The simulated API server: the object store with its watches, and what its clients share.

    store ─▶ informer (one component's own, possibly stale, copy) ─▶ workqueue

`process` ends all of it when a component dies; `faults` is what the API server may get wrong.
"""
