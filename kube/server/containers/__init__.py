"""Answers of containers, from the script that they follow: logs and exec."""
