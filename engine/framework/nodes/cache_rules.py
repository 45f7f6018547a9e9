"""How the scheduler's cache of a version behaves, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kernel.units import SECOND
from engine.objects.pods.pod_resources import ResourceRules


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """How the scheduler cache of one version behaves. Durations are nanoseconds.

    By default, as in the oldest version.
    """

    resources: ResourceRules = ResourceRules()
    assume_ttl: int = 30 * SECOND
    """How long an assumed pod stays after its binding finished, if no update confirms it; 0 is without limit."""
    clean_period: int = 1 * SECOND
    """How often the cache looks for assumed pods that have expired."""
    beta_zones_only: bool = True
    """Only the beta labels say in which zone a node is."""
    confirm_replaces_pod: bool = False
    """The confirmed pod replaces the assumed one; otherwise the node keeps the assumed one."""
    removes_assumed: bool = False
    """A pod that was deleted before it was confirmed can be removed."""
    update_adds_to_tree: bool = False
    """An update of a node that was never added puts it into the node tree."""
    relists_after_any_change: bool = True
    """Any change of a node makes the snapshot list the nodes again, which may change their order."""
    errors_name_pod: bool = False
    """Errors name the pod beside its uid."""
    missing_uid_error: str = "Cannot get cache key for pod with empty UID"
    """The error for a pod without a uid."""


class CacheError(Exception):
    """A *move* that the pod's state, or the absence of the node, does not allow.

    `fatal` marks what upstream ends its process over: its view of the cluster is broken.
    """

    def __init__(self, message: str, *, move: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.move = move
        self.fatal = fatal
