"""On which nodes the claims of a pod can have volumes.

The plugin asks `volume_finder`. The rules of matching are in `engine.storage.matching`.
"""
