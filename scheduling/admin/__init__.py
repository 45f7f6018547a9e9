"""Nodes, pods and attempts in the admin."""

from scheduling.admin.nodes import NodeAdmin
from scheduling.admin.pods import PodAdmin, SchedulingAttemptAdmin

__all__ = ["NodeAdmin", "PodAdmin", "SchedulingAttemptAdmin"]
