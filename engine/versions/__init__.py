"""Each Kubernetes version that can be simulated, as its difference from the one before it.

`v1_11` is the oldest and has the default of every rule. Each later file holds one value,
`V1_36 = V1_35.but(...)`, and states only what that version changed; `kubernetes_version` has `but`,
`registry` lists the versions, the newest first. `differences` makes the table of all rules under all
versions, which docs/versions.md and the page /versions/ show.

A rule is written once: a field with its default, which is what the oldest version does, and a
sentence beneath. The classes of rules stand beside the code that follows them (queue, cache,
preemption, controllers), those of the cycles in `cycle_rules`, because the code of the cycles is a
layer above. The settings of plugins are in `plugin_settings`, feature gates in `gates`. The order of
the default plugins is in `v1_34` for versions with multiPoint, in `v1_20` and `v1_11` for those
before; `default_plugins` derives from it what is asked at each point.

To add a version, or a rule to one, read docs/adding-a-rule.md.
"""
