"""Kubernetes, simulated: what decides, moves and stores, and why it did.

    kernel        time, heap, causes, recorder
    objects       manifests, quantities, selectors, naming, conditions
    api_server    what every write passes: store, watches, validation, admission, quotas, evictions
    input         files and scenarios, what was read and what was not
    storage       matching, binding and drivers of volumes
    framework     what a plugin of the scheduler sees: nodes, pods, columns, Status
    plugins       one folder for each plugin
    controllers   workloads, nodes, disruption, persistent volumes, attach/detach, garbage collection
    csi_sidecars  provisioner, attacher, resizer, modifier
    kubelet       pods, the volume manager, device claims
    versions      one file for each version of Kubernetes
    scheduler     configuration, queue, cycle, preemption
    cluster       all of it put together, and the checks of the whole
    diagnosis     facts, causes, changes, trials

Plain typed Python. Nothing here knows of Django, of a wall clock or of threads, so that a run is a
pure function of its scenario, profile, seed and commands. A room imports only rooms below it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.cluster.checks.determinism import check_determinism

__all__ = ["check_determinism"]


def __getattr__(name: str) -> Any:
    """Load `check_determinism` when it is asked for: an import of one room loads no others."""
    if name != "check_determinism":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("engine.cluster.checks.determinism").check_determinism
