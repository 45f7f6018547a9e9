"""The simulation kernel: virtual time, chance, API objects and the store they live in.

Plain typed Python. Nothing here knows of Django, of a wall clock or of threads, so that a run is a
pure function of its scenario, profile, seed and commands.
"""
