"""How much is taken on at once, and what happens to the rest: docs/limits.md.

`connections` bounds how slowly a head may come; `admission` decides which requests are served, wait or
are refused, by `places`, of which each account has a share; `askers` knows accounts by their
credentials, `fair_queue` takes turns. `sending` bounds the texts on their way to slow readers,
`quotas` what an account keeps. A request is known here by its address, its account and its path alone.
"""
