"""Two runs side by side: `comparing` reads them, `comparison` holds the rules of what differs.

docs/compare.md describes the answer.
"""
