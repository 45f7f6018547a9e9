"""What a pod asks for: its spec parsed once, and shared by all pods of the same template.

The lowest layer of the engine: every other package may import it.
"""
