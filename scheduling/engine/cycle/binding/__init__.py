"""From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind and PostBind.

    BindingCycle (in-tree) ◀── PluggedBindingCycle (plugins of other authors)
                           ◀── RoundsBindingCycle (v1.11)

The scheduler calls `begin`; a binding that fails goes to the failure handler. To add a step, begin
with the picture in `binding_cycle`. Upstream: pkg/scheduler/schedule_one.go bindingCycle().
"""
