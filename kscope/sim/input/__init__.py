"""What people hand in, made into a scenario: files, configurations and generated clusters.

    loader: bytes ─▶ documents ─▶ cleaning ─▶ validation ─▶ Scenario

Every problem is reported with its file, document, line, field and value.
"""
