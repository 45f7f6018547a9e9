"""What this scheduler would have decided, beside what a client decides in its place.

A scheduler that is `external` follows the cluster and leaves its pods to a client of the Kubernetes
API. Whenever the client binds one of them, or says that it fits nowhere, the same pod is decided
here, too, and nothing is done about it: a shadow decision.

    a client's write ─▶ shadow_decisions ─▶ an event ShadowDecision, and an attempt
                              │   ▲
                              ▼   │
                            trials: the decision, now and as the client may have seen the cluster

A client sees the cluster a moment late, and its bindings arrive in another order than it decided in.
A decision that is wrong now, but right without the pods that were bound last, with those that have just
gone, or when the pods are taken in the order in which they came to its queue, is `stale`.
"""
