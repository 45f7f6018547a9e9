"""Volumes as a Django app: persistent volumes, claims and storage classes in the database, and their API.

The rules live in `engine`, which knows nothing of Django.
"""
