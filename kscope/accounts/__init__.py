"""Accounts: who asks, what they may do, and how much of it.

`access.py` holds the one rule of access. REST, pages, sockets, the admin and templates all ask it; it
knows a run or a scenario only by its owner and its visibility. `limits.py` counts requests,
`usage.py` says what an account has used of its quotas. Everything that stores owned objects may
import this package; it imports none of it.
"""
