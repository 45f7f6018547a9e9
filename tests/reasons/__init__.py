"""Every reason that a run can give, a small cluster that provokes it, and the facts of the answer.

`table.py` has all cases; `document.py` writes them down as docs/diagnosis-reasons.md:
`python -m tests.reasons` (with `--check` it only says whether the document is up to date).
"""
