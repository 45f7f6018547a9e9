"""Which fields the objects of each version of Kubernetes have, and of which types.

    definitions, removed ──▶ names ──▶ checkers ──▶ findings ──▶ fields

`definitions` reads the OpenAPI definitions of a version, `removed` knows what older ones had,
`names` finds the definition of a kind. `checkers` are what definitions are compiled to: they say of
most objects, fast, that nothing is wrong. Of the others `findings` says what, and `near` what may
have been meant. Each door of a run (files, steps, commands, the Kubernetes API) asks `fields`.
"""
