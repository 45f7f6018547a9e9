"""The PV controller and its helpers: binding, provisioning, reclaiming, expansion and protection.

    pv_controller ─▶ provisioning, reclaim ─▶ provisioner (in-tree) or external_provisioner (CSI)
          └─ every write goes through writer, so that the controller's own caches show it at once

Upstream: pkg/controller/volume/{persistentvolume,expand,pvprotection,pvcprotection}.
"""
