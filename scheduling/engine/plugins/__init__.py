"""The in-tree plugins, a folder each, named as upstream names them.

A folder has what concerns its plugin, where the plugin has it: `plugin` filters, `score` scores,
`events` says which events may help a pod that it refused, `signature` what its answers depend on,
`facts` what its refusals come from, `changes` what would help. `predicate` and `priority` are what
v1.16 and before had in its place. To write your own, read docs/adding-a-plugin.md.

Upstream: pkg/scheduler/framework/plugins.
"""
