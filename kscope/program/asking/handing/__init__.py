"""Hands a run on: writes it for other programs, and brings one to a kscope that runs."""
