"""How a plugin accounts for its answers, in the words and numbers that a diagnosis shows.

A plugin that `Explains` turns a `Case`, its refusals for one reason, into an `Explanation` made of
`Fact`s: fields of objects with their values. It reads the cluster through a `View`. `manifests` has
what is read and written in manifests everywhere.
"""
