"""The record of events: rows of up to 1,024 events each, written, merged, copied, and looked into.

Whoever reads events does so through the view `runs_runevent`, which has a row for each of them.
"""
