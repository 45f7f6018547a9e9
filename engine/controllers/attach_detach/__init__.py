"""The attach/detach controller, and the external attacher that serves CSI volumes for it.

    populator ─▶ desired_state ─┐                ┌─▶ node_status (status.volumesAttached)
                                ├─▶ reconciler ──┤
    recovery ──▶ actual_state ──┘                └─▶ executor ─▶ drivers, VolumeAttachments
                     ▲ marks the outcome                │                 │
                     └──────────────────────────────────┘           csi_attacher

`controller` puts these together; `view` records what the pages show of both states.
Upstream: pkg/controller/volume/attachdetach.
"""
