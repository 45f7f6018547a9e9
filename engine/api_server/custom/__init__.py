"""Kinds that a CustomResourceDefinition adds, as the API server of a run takes them.

`kinds` finds them in the store and admits their objects, `status` says which names are accepted,
`checking` says what is wrong with an object by its schema.
"""
