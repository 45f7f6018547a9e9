"""The in-tree plugins, a folder each, named as upstream names them.

A folder has what concerns its plugin, where the plugin has it: `plugin` is its class, `score` the
arithmetic of its scores, `events` which events may help a pod that it refused, `facts` what its
refusals come from, `changes` the smallest change that undoes one, `arguments` how its arguments are
checked. `predicate` and `priority` are what v1.16 and before had in its place, and
`classic` what those have in common. To write your own, read docs/adding-a-plugin.md.

Upstream: pkg/scheduler/framework/plugins.
"""
