"""Random sick clusters, as an engineer on call would export them, and what must hold of each.

`make fuzz` tries thousands (FUZZ_KIND=sick-clusters); the tests try a few.
"""
