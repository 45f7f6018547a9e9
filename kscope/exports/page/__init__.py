"""A run as one HTML file that plays offline: the page that was built, and what was recorded as its data.

built.html (kscope/static_files/one_file.py) ──▶ document: head ‥ data ‥ foot
events, attempts ─▶ Recording: chunks, keyframes, evidence      ─┘
what waits at the end ─▶ waiting: the answers why              ─┘
"""
