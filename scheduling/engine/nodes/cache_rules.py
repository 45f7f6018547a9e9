"""How the scheduler's cache of each version behaves, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kscope.sim.kernel.units import SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """How the cache of one version behaves. Durations in nanoseconds."""

    version: str
    # How long an assumed pod stays after its binding finished; 0 means for ever (v1.34).
    assume_ttl: int
    clean_period: int = 1 * SECOND
    # v1.16 looks at the beta zone labels only.
    beta_zones_only: bool = False
    # v1.34 takes the confirmed pod for the assumed one; before, the node kept the assumed one.
    confirm_replaces_pod: bool = False
    # v1.34: a pod that was deleted before it was confirmed can be removed.
    removes_assumed: bool = False
    # Since v1.20 a change of a node that was never added puts it into the tree.
    update_adds_to_tree: bool = True
    # Errors of v1.34 name the pod beside its uid.
    errors_name_pod: bool = False


_RULES_1_16 = CacheRules(
    version="v1.16",
    assume_ttl=30 * SECOND,
    beta_zones_only=True,
    update_adds_to_tree=False,
)

CACHE_RULES: Mapping[str, CacheRules] = {
    "v1.11": replace(_RULES_1_16, version="v1.11"),
    "v1.16": _RULES_1_16,
    "v1.20": CacheRules(version="v1.20", assume_ttl=30 * SECOND),
    "v1.34": CacheRules(
        version="v1.34",
        assume_ttl=0,
        confirm_replaces_pod=True,
        removes_assumed=True,
        errors_name_pod=True,
    ),
}


class CacheError(Exception):
    """A *move* that the pod's state, or the absence of the node, does not allow.

    `fatal` marks what upstream ends its process over: its view of the cluster is broken.
    """

    def __init__(self, message: str, *, move: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.move = move
        self.fatal = fatal
