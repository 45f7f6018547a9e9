"""Scheduling as a Django app: nodes and pods in the database, their pages, API and Celery tasks.

The rules live in `engine`, which knows nothing of Django. What belongs to no node and no
pod (runs, events, streams) is in `kscope.runs`.
"""
