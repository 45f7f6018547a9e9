"""What is stuck in a cluster: its objects grouped by cause, and the best change for each group.

Causes come from what the files say (`engine.diagnosis.observed`) and from what the schedulers
would decide (`deciding`); nothing is played.
"""
