"""What is stuck in small clusters, and what triage says of it."""
