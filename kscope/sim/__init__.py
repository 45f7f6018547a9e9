"""The simulation: virtual time, chance, API objects, the store they live in, and what comes in.

    input ─▶ api_server ─▶ objects ─▶ kernel          errors: what is refused, for all of them

Plain typed Python. Nothing here knows of Django, of a wall clock or of threads, so that a run is a
pure function of its scenario, profile, seed and commands.
"""
