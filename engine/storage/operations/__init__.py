"""Operations that take time: which may run together, and how long one waits after it failed.

    runner    one operation per name, for the PV controller
    pending   one operation per volume, or per pod of a volume, for the kubelet and attach/detach
    messages  the texts of their Events

Upstream: pkg/util/goroutinemap, pkg/volume/util/nestedpendingoperations.
"""
