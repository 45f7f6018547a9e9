"""What expressions about a write are given, and what selects it by its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.api_server.policies.writes import Write
from engine.api_server.store.held_objects import Objects
from engine.objects.cel.authorizing import AUTHORIZER
from engine.objects.objects import Manifest

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
# What of a Namespace expressions see. Upstream: plugin/cel/condition.go, CreateNamespaceObject().
_METADATA: Final = (
    *("name", "generateName", "namespace", "labels", "annotations", "uid", "creationTimestamp"),
    *("deletionGracePeriodSeconds", "deletionTimestamp", "generation", "resourceVersion"),
    *("finalizers",),
)


def variables_of(
    store: Objects, write: Write, parameters: Manifest | None = None
) -> dict[str, Any]:
    """The variables of an expression about *write*."""
    return {
        "object": write.new,
        "oldObject": write.old,
        "request": write.request(),
        "params": parameters,
        "namespaceObject": _namespace_object(store, write),
        "authorizer": AUTHORIZER,
    }


def labels_of_namespace(store: Objects, namespace: str) -> Mapping[str, str]:
    """Those of the Namespace, and its name; of one that nobody has written the name alone."""
    found = store.find("Namespace", namespace) if namespace else None
    return {_NAME_LABEL: namespace, **(found.labels if found is not None else {})}


def _namespace_object(store: Objects, write: Write) -> Manifest | None:
    if not write.namespace or write.is_of_namespace:
        return None
    found = store.find("Namespace", write.namespace)
    if found is None:
        labels = {_NAME_LABEL: write.namespace}
        return {"metadata": {"name": write.namespace, "labels": labels}}
    metadata = {name: found.metadata[name] for name in _METADATA if name in found.metadata}
    parts = {name: found.raw[name] for name in ("spec", "status") if name in found.raw}
    return {"metadata": metadata, **parts}
