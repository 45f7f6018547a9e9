"""What a page shows of a triage beside its sentences: counts, nodes by reason, what happened."""
