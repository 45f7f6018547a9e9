"""Which volume a claim gets: one set of rules for the PV controller, the scheduler and the pages.

    candidates ─▶ index ─▶ lists ─▶ offers
        └─▶ explanation ─▶ rules ─────┘

`offers` reads claims and volumes, `rules` decides about one pair, `index` finds the best volume fast,
`explanation` names each broken rule, `candidates` shows all of it.
"""
