"""The volume manager of each node: it mounts what pods need and unmounts what none needs any more.

    populator ─▶ desired_state ─┐
                                ├─▶ reconciler ─▶ operations ─▶ actual_state
    disk (after a restart) ─────┘

`manager` is one node's, and connects these with `waiting` (pods that wait for their volumes),
`volumes_in_use` (the node's status), `retries` and `ticks` (when to look again) and `view` (what the
pages show). `all_nodes` has one for every node that has a volume.
Upstream: pkg/kubelet/volumemanager.
"""
