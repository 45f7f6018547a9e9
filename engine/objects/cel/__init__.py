"""Expressions in CEL and their values; what their text shows is in `values.cel_text`.

`rewriting`, `optionals` and `object_literals` write expressions as the library takes them,
`functions` and `lists` are what Kubernetes adds, `programs` evaluates, and `errors` says what failed.
"""
