"""From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind and PostBind.

    BindingCycle ─▶ PluginCalls (one loop over the plugins of a point), Binder (the point Bind)
        └─ extension_points: what a profile runs at each point, and what a refusal means
        └─ BindQueue: v1.11 binds volumes before pods

The scheduler calls `begin`; a binding that fails goes to the failure handler. To add a step, begin
with the picture in `binding_cycle`. Upstream: pkg/scheduler/schedule_one.go bindingCycle().
"""
