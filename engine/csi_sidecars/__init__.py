"""The sidecar containers of CSI drivers: external provisioner and external resizer.

    external_provisioner ─▶ driver_faults
    external_resizer

Each stands for the sidecars of all drivers. The external attacher is in `attach_detach`.
"""
