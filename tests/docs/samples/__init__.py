"""The samples in docs/samples: `making` writes those that nobody writes by hand, tests read them all.

`python -m tests.docs.samples` writes them anew, which is needed when what they hold has changed.
"""
