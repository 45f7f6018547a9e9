"""A process that hosts the drivers of many runs, which take turns, and what starts such processes.

loop        the runs of one thread, by when their next turn is
ownership   one run from when it is taken until it is given back
asks        questions about heads, which forks of the process answer
process     the process, which takes runs that its worker names
at_work     which run a process works on, which its worker reads when it was killed
fleet       the worker's end: one such process a core, and which run is given to which
"""
