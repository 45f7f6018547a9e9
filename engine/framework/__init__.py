"""The scheduling framework: what a plugin is, what it is given, and how a profile's plugins run.

`framework` is the vocabulary (codes, statuses, extension points), `runtime` runs the plugins of one
profile over the table of nodes, `messages` and `wording` turn refusals into upstream's sentences.

Upstream: pkg/scheduler/framework.
"""
