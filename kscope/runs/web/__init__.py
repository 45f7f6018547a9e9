"""Pages, REST and uploads of runs and scenarios.

Views look a run up through `kscope.runs.access` only, write through `kscope.runs.services` only, and
have the engine asked through `kscope.runs.aside`. Nothing imports this room but the wiring and the
admin.
"""
