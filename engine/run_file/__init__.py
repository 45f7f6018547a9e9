"""A run as one file, `.kscope`: written, read, checked, and played again to the same digest.

    writing ──▶ container (a zip) ──▶ reading ──▶ checking ──▶ replaying ──▶ the same, or where it parts

docs/run-file.md describes the format. A file has no checkpoint: who receives it plays it again.
"""
