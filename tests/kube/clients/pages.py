"""What the pages show of a run and what its API server says, in the same few words.

Each side is read by itself: the view state that pages draw, and the objects of the API.
"""

from collections.abc import Callable, Iterable
from typing import Any

from kube.resources import SERVED
from kube.server.objects.furniture import is_named

Facts = dict[str, Any]
State = dict[str, dict[str, Any]]

_PREFIXES = {
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "StorageClass": "class",
}
# What pages show of an object, and the same of its manifest.
_SHOWN = {
    "pod": ("phase", "node", "nominated", "reason", "priority"),
    "node": ("zone", "ready", "unschedulable", "labels"),
    "claim": ("phase", "volume", "class", "selected_node", "modes"),
    "volume": ("phase", "claim", "class", "reclaim", "modes"),
    "class": ("provisioner", "binding_mode", "reclaim"),
}


def shown_by_pages(state: State) -> dict[str, Facts]:
    """By entity id, the facts that the view state has of the objects that the API serves."""
    served = {_prefix(one.kind) for one in SERVED if one.kind != "Event"}
    return {
        entity: _facts_of_view(entity.partition("/")[0], shown)
        for entity, shown in state.items()
        if entity.partition("/")[0] in served and "created" in shown
    }


def shown_by_the_api(kind: str, objects: Iterable[dict[str, Any]]) -> dict[str, Facts]:
    """By entity id, the same facts of the objects of a list, without what every cluster has."""
    prefix = _prefix(kind)
    found: dict[str, Facts] = {}
    for one in objects:
        metadata = one["metadata"]
        if is_named(kind, metadata.get("namespace", ""), metadata["name"]):
            continue
        place = [metadata["namespace"]] if metadata.get("namespace") else []
        facts = _READ.get(prefix, _no_facts)(one)
        facts["deleting"] = bool(metadata.get("deletionTimestamp"))
        found["/".join([prefix, *place, metadata["name"]])] = _present(facts)
    return found


def _facts_of_view(prefix: str, shown: dict[str, Any]) -> Facts:
    facts = {name: shown.get(name) for name in _SHOWN.get(prefix, ())}
    return _present({**facts, "deleting": "deleting" in shown})


def _present(facts: Facts) -> Facts:
    return {name: value for name, value in facts.items() if value}


def _prefix(kind: str) -> str:
    return _PREFIXES.get(kind, kind.lower())


def _no_facts(one: dict[str, Any]) -> Facts:
    return {}


def _pod(one: dict[str, Any]) -> Facts:
    spec, status = one["spec"], one["status"]
    return {
        "phase": status["phase"],
        "node": spec.get("nodeName"),
        "nominated": status.get("nominatedNodeName"),
        "reason": status.get("reason"),
        "priority": spec["priority"],
    }


def _node(one: dict[str, Any]) -> Facts:
    conditions = one["status"].get("conditions") or ()
    ready = [each["status"] == "True" for each in conditions if each["type"] == "Ready"]
    labels = one["metadata"].get("labels") or {}
    return {
        "zone": labels.get("topology.kubernetes.io/zone"),
        "ready": all(ready),
        "unschedulable": one["spec"].get("unschedulable"),
        "labels": labels,
    }


def _claim(one: dict[str, Any]) -> Facts:
    spec = one["spec"]
    annotations = one["metadata"].get("annotations") or {}
    return {
        "phase": one["status"]["phase"],
        "volume": spec.get("volumeName"),
        "class": spec.get("storageClassName"),
        "selected_node": annotations.get("volume.kubernetes.io/selected-node"),
        "modes": spec["accessModes"],
    }


def _volume(one: dict[str, Any]) -> Facts:
    spec = one["spec"]
    claim = spec.get("claimRef") or {}
    return {
        "phase": one["status"]["phase"],
        "claim": "/".join(filter(None, [claim.get("namespace"), claim.get("name")])),
        "class": spec.get("storageClassName"),
        "reclaim": spec["persistentVolumeReclaimPolicy"],
        "modes": spec["accessModes"],
    }


def _class(one: dict[str, Any]) -> Facts:
    return {
        "provisioner": one["provisioner"],
        "binding_mode": one["volumeBindingMode"],
        "reclaim": one["reclaimPolicy"],
    }


_READ: dict[str, Callable[[dict[str, Any]], Facts]] = {
    "pod": _pod,
    "node": _node,
    "claim": _claim,
    "volume": _volume,
    "class": _class,
}
