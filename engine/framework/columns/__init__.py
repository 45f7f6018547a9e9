"""Kept answers: what plugins answered for every node, so that an attempt costs only what changed.

    kept ─▶ kept_totals, row_classes, cells (fast_path): the best nodes for a template
         ─▶ kept_verdicts, ledger (explanation): every answer, also of earlier attempts
         ─▶ volume_choices: the volume that each node would get

For speed only (ADR 0016): without this room every decision is the same, and agreement tests compare
both. A plugin may take part by the protocols in `row_plugins`.
"""
