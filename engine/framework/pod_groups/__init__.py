"""Pods that are scheduled together: the groups that a scheduler knows.

`groups.py` counts the pods of each PodGroup. The plugin GangScheduling holds them back until a group
can be whole. The cycle that tries all pods of a group at once is `engine/scheduler/cycle/group_cycle.py`.
"""
