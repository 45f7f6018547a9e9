"""How the API server deletes: grace periods, propagation, namespaces.

Upstream: apiserver/pkg/registry/rest/delete.go, registry/generic/registry/store.go
(deletionFinalizersForGarbageCollection), pkg/registry/core/{pod,namespace}.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.controllers.shared.owners import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from engine.kernel.units import timestamp
from engine.objects.custom.definition import DEFINITION, TERMINATING, with_condition
from engine.objects.objects import ApiObject, Pod

BACKGROUND: Final = "Background"
FOREGROUND: Final = "Foreground"
ORPHAN: Final = "Orphan"
PROPAGATIONS: Final = (BACKGROUND, FOREGROUND, ORPHAN)

# Kinds whose dependents stay by default, and versions of which those of all kinds do.
# Upstream: DefaultGarbageCollectionPolicy() of their strategies.
_ORPHANED_OF: Final = frozenset((("v1", "ReplicationController"), ("batch/v1", "Job")))
_ORPHANED_IN: Final = frozenset(
    ("apps/v1beta1", "apps/v1beta2", "batch/v1beta1", "extensions/v1beta1")
)
# What a client is told that leaves the pods of a Job behind. Upstream:
# pkg/registry/batch/job/storage/storage.go, deleteOptionWarnings.
PODS_ARE_KEPT: Final = (
    "child pods are preserved by default when jobs are deleted; set "
    "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this "
    "warning"
)

# Holds a CustomResourceDefinition while there are objects of its kind.
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PENDING: Final = (
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
)

_HOLDS: Final = {FOREGROUND: FOREGROUND_FINALIZER, ORPHAN: ORPHAN_FINALIZER}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a DELETE request. Without *grace_seconds* the object's own grace period counts.

    Upstream: metav1.DeleteOptions.
    """

    grace_seconds: int | None = None
    propagation: str = BACKGROUND


NO_OPTIONS: Final = DeleteOptions()


def default_propagation(api_version: str, kind: str, finalizers: Iterable[str]) -> str:
    """What becomes of the dependents where a client of the API does not say it.

    Upstream: shouldOrphanDependents() and shouldDeleteDependents().
    """
    told = [policy for policy, hold in _HOLDS.items() if hold in finalizers]
    if told:
        return told[-1]
    is_kept = (api_version, kind) in _ORPHANED_OF or api_version in _ORPHANED_IN
    return ORPHAN if is_kept else BACKGROUND


def grace_of(obj: ApiObject) -> int:
    """The grace that a DELETE without options gives: a pod's own, once a kubelet has it."""
    if isinstance(obj, Pod) and obj.node_name and not obj.is_terminated:
        return obj.grace_period_seconds
    return 0


def delete(
    store: ObjectStore,
    obj: ApiObject,
    *,
    by: str,
    options: DeleteOptions = NO_OPTIONS,
    message: str = "",
) -> None:
    """Delete the newest version of *obj* as a DELETE request would. Raises NotFound."""
    grace_seconds = options.grace_seconds
    live = store.get(obj.kind, obj.key)
    if live.kind == "Namespace":
        _terminate_namespace(store, live, by)
        return
    if live.kind == DEFINITION and not live.deletion_timestamp:
        live = _with_cleanup(store, live, by)
    grace = grace_of(live) if grace_seconds is None or not grace_of(live) else grace_seconds
    hold = _HOLDS.get(options.propagation)
    others = [name for name in live.finalizers if name not in _HOLDS.values()]
    if hold is None or hold in live.finalizers:
        store.delete(live.kind, live.key, by=by, grace_seconds=grace, message=message)
        return
    marked = live.with_metadata(
        finalizers=[*others, hold],
        deletionTimestamp=live.deletion_timestamp or timestamp(store.clock),
        deletionGracePeriodSeconds=grace,
    )
    store.update(marked, by=by, event=f"{live.kind}Terminating", message=message)


def _with_cleanup(store: ObjectStore, definition: ApiObject, by: str) -> ApiObject:
    """A definition that its finalizer holds from now on.

    Upstream: apiextensions-apiserver pkg/registry/customresourcedefinition/etcd.go, Delete().
    """
    told = ("True", "InstanceDeletionPending", _PENDING, timestamp(store.clock))
    conditions = with_condition(definition.raw, TERMINATING, *told)
    held = [*dict.fromkeys((*definition.finalizers, CLEANUP_FINALIZER))]
    marked = definition.with_metadata(finalizers=held)
    return store.update(marked.replaced(status={**marked.status, "conditions": conditions}), by=by)


def _terminate_namespace(store: ObjectStore, namespace: ApiObject, by: str) -> None:
    if namespace.deletion_timestamp:
        return
    marked = namespace.with_metadata(deletionTimestamp=timestamp(store.clock)).patched(
        {"status": {"phase": "Terminating"}}
    )
    store.update(marked, by=by, event="NamespaceTerminating")
