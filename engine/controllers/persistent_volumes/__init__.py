"""The PV controller: binds, provisions and reclaims volumes.

    pv_controller ─▶ claim_sync, volume_sync ─▶ operations ─▶ provisioning, reclaim ─▶ in_tree
          └──────▶ resync       └─▶ writer ─▶ caches               └─▶ writer

`pv_controller` queues what changed, the syncs decide, `writer` writes and updates the controller's own
caches at once. An operation (provision, delete, recycle) takes time and runs beside the syncs.

Upstream: pkg/controller/volume/persistentvolume.
"""
