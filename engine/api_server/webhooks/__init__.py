"""Webhooks whose servers the script of a run answers for: what they deny and change (ADR 0066).

mutating, validating ─▶ calls ─▶ servers
"""
