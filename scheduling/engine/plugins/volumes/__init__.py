"""The in-tree plugins about storage. The rules of matching are in `volumes.engine.matching`."""
