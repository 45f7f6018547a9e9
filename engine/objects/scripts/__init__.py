"""What containers do, as data: an entry of the scenario's `containers` or of a pod's annotation.

    reading ─▶ script ◀─ matching (which entry is whose)
                 ◀─ output (what logs and exec answer)

No process runs in a container of a run. An entry says how long a container runs and with what code
it ends, what its probes find, what it prints, and what commands and servers in it answer.
"""
