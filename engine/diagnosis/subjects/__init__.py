"""Why an object other than a pending pod is in its state: one module for each kind.

Each reads the API server's objects and yields causes with their facts; no decision is made again.
`diagnosis/why.py` chooses the module. `scene.Scene` finds the objects around the one in question.
"""
