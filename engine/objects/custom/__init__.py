"""Kinds that a CustomResourceDefinition adds, and their objects.

`definition` reads a CustomResourceDefinition, `structural` prunes objects and gives them their
defaults, `objects` is how a run holds them. Upstream: apiextensions-apiserver.
"""
