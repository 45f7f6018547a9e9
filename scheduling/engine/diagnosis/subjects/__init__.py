"""Why an object is as it is, for what is no pending pod: one module for each kind.

Each reads the API server's objects as they stand and yields causes with their facts; nothing is
decided again. `diagnosis/why.py` chooses the module. `scene.Scene` is what they look around with.
"""
