"""The in-tree plugins, one module each, named as upstream names them.

`volumes` has the plugins for storage, `classic` the predicates and priorities of v1.16 and before.
To write your own, read docs/adding-a-plugin.md.

Upstream: pkg/scheduler/framework/plugins.
"""
