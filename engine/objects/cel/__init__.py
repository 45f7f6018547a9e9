"""Expressions in CEL and their values; what their text shows is in `values.cel_text`.

`rewriting` and `optionals` write expressions as the library takes them, `functions` are those that
Kubernetes adds, `programs` evaluates, `errors` says what failed, and `declared` what an expression
names that its variables do not have.
"""
