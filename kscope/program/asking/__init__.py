"""Questions: they read files, ask the engine, and end with the status of the answer.

sources: files become a cluster and what they say ─▶ triage, why, simulate, diff, test
"""
