"""How much is taken on at once, and what happens to the rest: docs/limits.md.

`admission` decides which requests are served, wait or are refused; `sending` bounds the texts on
their way to slow readers; `quotas` bounds what an account keeps; `fair_queue` takes turns.
A request is known here by its address, its account and its path alone.
"""
