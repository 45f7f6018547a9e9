"""Turns what users supply into a scenario: files, configurations and generated clusters.

    loader: bytes ─▶ documents ─▶ cleaning ─▶ validation ─▶ Scenario

`load_result` holds what was read: objects and their origins, or every problem with its file,
document, line, field and value.
"""
