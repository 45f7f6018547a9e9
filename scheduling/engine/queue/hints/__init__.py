"""Queueing hints: which cluster events may help a pod that a plugin rejected (since v1.34).

`in_tree` lists what each in-tree plugin registers; `nodes`, `resources`, `pods`, `volumes` and
`devices` hold the hints by what they look at. `registrations` is what a custom plugin imports to
register its own; `queueing_hints` asks those of a profile. Upstream: EventsToRegister().
"""
