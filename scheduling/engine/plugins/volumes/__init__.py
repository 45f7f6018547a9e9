"""The in-tree plugins about storage.

`volume_binding` asks `volume_finder` on which nodes the claims of a pod can have volumes. The rules
of matching are in `volumes.engine.matching`.
"""
