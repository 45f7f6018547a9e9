"""Stories: the home page, the gallery of demos, and what it shows of each.

urls           the addresses of pages
pages          what a visitor gets
gallery        the demos as cards, by topic, found by words or by a pasted message
keeping        plays each demo once and keeps what the gallery shows of it
"""
