"""The life of a volume: matching, binding, provisioning, reclaim, attach and mount.

    actors ─▶ attach_detach, kubelet ───────────┐
       └───▶ csi ─▶ pv_controller ─▶ matching ──┴─▶ ports, phases, operations, migration
                        ▲
                  binding (the scheduler's volume binder)

Plain typed Python. `scheduling.engine` uses it; it imports nothing of the scheduler.
"""
